import Synchronization

/// A value that is protected by a lock. The type is a class so that closures can share the value.
///
/// The class is `package` because other modules use it.
package final class Locked<Value: Sendable>: Sendable {
  private let contents: Mutex<Value>

  package init(_ value: Value) {
    contents = Mutex(value)
  }

  /// Calls a function with the value while the lock is held. The function must not call the user's code.
  package func withLock<R: Sendable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    try contents.withLock { value throws(E) in try body(&value) }
  }
}

/// A box in which a task stores a result for other tasks. Only the first result is stored.
///
/// The class is `package` because `ProcedureKitRemote` uses it.
package final class ResultBox<Value: Sendable>: Sendable {
  private let contents = Mutex(Result<Value, any Error>?.none)

  package init() {}

  /// The result; `nil` if none has been stored yet.
  package var result: Result<Value, any Error>? { contents.withLock(\.self) }

  package func store(_ result: Result<Value, any Error>) { contents.withLock { if $0 == nil { $0 = result } } }
}
