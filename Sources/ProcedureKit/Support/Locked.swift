import Synchronization

/// Internal. A value under a lock. A reference, so that closures can share the value.
final class Locked<Value: Sendable>: Sendable {
  private let contents: Mutex<Value>

  init(_ value: Value) {
    contents = Mutex(value)
  }

  /// Calls a function with the value, under the lock. The function must not call what belongs to a user.
  func withLock<R: Sendable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    try contents.withLock { value throws(E) in try body(&value) }
  }
}

/// Internal. Where a task leaves a result for others. The first result counts.
final class ResultBox<Value: Sendable>: Sendable {
  private let contents = Mutex(Result<Value, any Error>?.none)

  /// The result; `nil` while there is none.
  var result: Result<Value, any Error>? { contents.withLock(\.self) }

  func store(_ result: Result<Value, any Error>) { contents.withLock { if $0 == nil { $0 = result } } }
}
