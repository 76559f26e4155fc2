import Synchronization

/// Internal. A value under a lock. It is a class, so that closures can share the value.
///
/// `package` for `ProcedureKitDurable` and `ProcedureKitRemote`.
package final class Locked<Value: Sendable>: Sendable {
  private let contents: Mutex<Value>

  package init(_ value: Value) {
    contents = Mutex(value)
  }

  /// Calls a function with the value, under the lock. The function must not call the user's code.
  package func withLock<R: Sendable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    try contents.withLock { value throws(E) in try body(&value) }
  }
}

/// Internal. A box in which a task leaves a result for other tasks. The first result counts.
///
/// `package` for `ProcedureKitRemote`.
package final class ResultBox<Value: Sendable>: Sendable {
  private let contents = Mutex(Result<Value, any Error>?.none)

  package init() {}

  /// The result; `nil` while there is none.
  package var result: Result<Value, any Error>? { contents.withLock(\.self) }

  package func store(_ result: Result<Value, any Error>) { contents.withLock { if $0 == nil { $0 = result } } }
}
