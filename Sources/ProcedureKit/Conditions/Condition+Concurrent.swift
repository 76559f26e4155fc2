extension Condition {
  /// Calls `operation` for each number below `count`, all at once, until one result is conclusive or none is left.
  ///
  /// Returns after all calls have returned; those that are left when a conclusive result comes are cancelled. Cancelling
  /// the caller cancels them all.
  ///
  /// - Returns: The results by number, `nil` for a call that a conclusive result cut short; and the conclusive result.
  static func callAll<Result: Sendable>(
    _ count: Int, operation: @escaping @Sendable (Int) async -> Result, until isConclusive: (Result) -> Bool
  ) async -> (results: [Result?], conclusive: Result?) {
    await withTaskGroup(of: (Int, Result).self) { group in
      for index in 0..<count {
        group.addTask { (index, await operation(index)) }
      }
      var results = [Result?](repeating: nil, count: count)
      var conclusive: Result?
      for await (index, result) in group where conclusive == nil {
        results[index] = result
        if isConclusive(result) {
          conclusive = result
          group.cancelAll()
        }
      }
      return (results, conclusive)
    }
  }
}
