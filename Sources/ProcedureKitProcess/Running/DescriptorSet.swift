/// Descriptors that one thread waits for. Any thread adds some.
protocol DescriptorSet: Sendable {
  /// Waits for a descriptor once: until there is something to read, or nobody can write any more. A closed descriptor is forgotten.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor. One that is in the set already keeps its place, with the new key.
  ///   - key: The number by which `next` tells the descriptor.
  /// - Returns: Whether the system waits.
  func add(_ descriptor: Int32, key: Int) -> Bool

  /// Waits for some of the descriptors, and removes these from the set. A key may be that of a descriptor that was closed meanwhile.
  ///
  /// - Parameter limit: How long to wait, in whole milliseconds; `nil` for ever.
  /// - Returns: The keys; none if the time is over, after a `wake`, and perhaps after an `add`.
  func next(within limit: Duration?) -> [Int]

  /// Ends a wait, or the next one if nobody waits. Any thread calls this.
  func wake()
}

extension Duration {
  /// The whole milliseconds, for the system, which understands a negative number as for ever.
  static func milliseconds(of limit: Duration?) -> Int32 {
    limit.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
  }
}
