/// Internal. Encodes and decodes the value of one node, whose type is known only when the graph is made.
protocol NodeCodec: Sendable {
  /// Returns the encoded value, and gives up the journal's share of the value.
  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) throws -> [UInt8]

  /// Decodes the value, which the node's consumers take then.
  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) throws
}

/// Internal. The codec of a node with a `Codable` value.
struct CodableNode<Value: Codable>: NodeCodec {
  let slot: ValueSlot<Value>

  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) throws -> [UInt8] {
    try coder.encode(values.take(slot))
  }

  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) throws {
    values.put(try coder.decode(Value.self, from: bytes), into: slot)
    values.giveUpShare(of: slot.index)
  }
}

/// Internal. The codec of a node without a value, whose entry says only that the node has finished.
struct VoidNode: NodeCodec {
  func encode(_ values: GraphValues, _ coder: any ProcedureCoder) -> [UInt8] { [] }

  func decode(_ bytes: [UInt8], into values: GraphValues, _ coder: any ProcedureCoder) {}
}

extension ValueLayout {
  /// Returns the codec of the value in a slot, or `nil` if the value is not `Codable`.
  func codec(of slot: Int32) -> (any NodeCodec)? {
    let (type, offset) = (slots[Int(slot)].type, slots[Int(slot)].offset)
    if type == Void.self { return VoidNode() }
    func open<Value: Codable>(_ type: Value.Type) -> any NodeCodec {
      CodableNode<Value>(slot: ValueSlot(index: slot, offset: offset))
    }
    return (type as? any Codable.Type).map { open($0) }
  }

  /// Adds one consumer to a slot: the journal.
  mutating func addJournal(to slot: Int32) {
    if countsConsumers { slots[Int(slot)].consumers += 1 }
  }
}
