import Synchronization

/// A value that several tasks of a test can access.
final class Locked<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  init(_ value: Value) {
    storage = Mutex(value)
  }

  var value: Value { storage.withLock { $0 } }

  @discardableResult
  func callAsFunction<R: Sendable>(_ change: @Sendable (inout Value) -> R) -> R {
    storage.withLock { change(&$0) }
  }
}
