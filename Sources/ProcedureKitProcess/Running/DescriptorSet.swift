/// A set of descriptors that one thread waits for. Any thread can add descriptors.
protocol DescriptorSet: Sendable {
  /// Adds a descriptor, which stays in the set until it becomes readable or its write end is closed. Closing a descriptor removes it from
  /// the set.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor to add. If it is already in the set, its key is replaced.
  ///   - key: The number that `next` returns to identify the descriptor.
  /// - Returns: Whether the system accepted the descriptor.
  func add(_ descriptor: Int32, key: Int) -> Bool

  /// Waits until at least one descriptor is ready, and removes all ready descriptors from the set. A returned key may belong to a
  /// descriptor that has already been closed.
  ///
  /// - Parameter limit: The maximum duration of the wait, in whole milliseconds; `nil` if there is no limit.
  /// - Returns: The keys of the ready descriptors; empty after the time limit, after a `wake`, and possibly after an `add`.
  func next(within limit: Duration?) -> [Int]

  /// Ends the current wait or, if the thread is not waiting, the next one. This function can be called from any thread.
  func wake()
}

extension Duration {
  /// Converts a duration to whole milliseconds for system calls, where a negative number means that there is no limit.
  static func milliseconds(of limit: Duration?) -> Int32 {
    limit.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
  }
}
