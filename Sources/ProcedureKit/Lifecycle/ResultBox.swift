import Synchronization

/// Internal. Where a task leaves a result for others. The first result counts.
final class ResultBox<Value: Sendable>: Sendable {
  private let contents = Mutex(Result<Value, any Error>?.none)

  /// The result; `nil` while there is none.
  var result: Result<Value, any Error>? { contents.withLock(\.self) }

  func store(_ result: Result<Value, any Error>) { contents.withLock { if $0 == nil { $0 = result } } }
}
