/// Descriptors that one thread waits for. Any thread can add descriptors.
protocol DescriptorSet: Sendable {
  /// Waits for a descriptor once, until it is readable or its write end is closed. A closed descriptor is removed.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor. If it is already in the set, its key is replaced.
  ///   - key: The number that `next` returns to identify the descriptor.
  /// - Returns: Whether the system is waiting for the descriptor.
  func add(_ descriptor: Int32, key: Int) -> Bool

  /// Waits for some of the descriptors, and removes these from the set. A returned key may belong to a descriptor that has been closed in
  /// the meantime.
  ///
  /// - Parameter limit: The longest wait, in whole milliseconds; `nil` for no limit.
  /// - Returns: The keys; empty if the time is over, after a `wake`, and possibly after an `add`.
  func next(within limit: Duration?) -> [Int]

  /// Ends the current wait, or the next one if no thread is waiting. Any thread may call this function.
  func wake()
}

extension Duration {
  /// Converts to whole milliseconds for system calls, in which a negative number means no limit.
  static func milliseconds(of limit: Duration?) -> Int32 {
    limit.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
  }
}
