/// Internal. Where each value of a graph lies, and how many consumers take the value. Laid out once, when the graph is built.
struct ValueLayout: Sendable {
  struct Slot: Sendable {
    let offset: Int32
    var consumers: Int32 = 0
    let destroy: (@Sendable (GraphValues, Int32) -> Void)?
    let type: Any.Type
  }

  private(set) var size = 0
  private(set) var alignment = 1
  var slots: ContiguousArray<Slot> = []
  /// Whether a value has to be destroyed, so that consumers are counted.
  private(set) var countsConsumers = false

  /// Lays out one more value, and returns the index and the offset of the value's slot.
  mutating func addSlot(for kind: ValueKind) -> (index: Int32, offset: Int32) {
    let offset = (size + kind.alignment - 1) & ~(kind.alignment - 1)
    size = offset + kind.size
    alignment = max(alignment, kind.alignment)
    countsConsumers = countsConsumers || kind.destroy != nil
    slots.append(Slot(offset: Int32(offset), destroy: kind.destroy, type: kind.type))
    return (Int32(slots.count - 1), Int32(offset))
  }

  /// Counts the consumers of each value: `inputs` has twice the slot of each input of each node, `outputs` are the slots of the graph's value.
  mutating func countConsumers(inputs: ContiguousArray<Int32>, outputs: [Int32]) {
    guard countsConsumers else { return }
    for input in inputs { slots[Int(input >> 1)].consumers += 1 }
    for output in outputs { slots[Int(output)].consumers += 1 }
  }
}
