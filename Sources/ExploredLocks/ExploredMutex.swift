import Synchronization

/// A lock whose operations are points at which an exploration can switch tasks.
///
/// To opt in, a module declares a type alias that is compiled only in test builds. The alias shadows the type of the same name in
/// `Synchronization`:
///
/// ```swift
/// typealias Mutex = ExploredMutex
/// ```
///
/// During an exploration by `TestingProcedureKit`, any ready task can run before the lock is acquired. A task that requests a lock held by
/// another task waits while other tasks run. If tasks are waiting for each other's locks, the exploration reports a deadlock. The report
/// names the locks, their holders, and the locations in the code. The exploration also reports a deadlock if a task tries to acquire a lock
/// that it already holds.
///
/// Outside explorations, and on threads that do not belong to one, the lock behaves like a `Mutex`. A lock that outlives a schedule makes
/// later schedules depend on earlier ones, so create locks within the explored body.
public struct ExploredMutex<Value: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  private let identity: LockIdentity

  /// Creates a lock that guards a value.
  ///
  /// - Parameters:
  ///   - initialValue: The initial value.
  ///   - fileID: The file that identifies the lock in reports.
  ///   - line: The line that identifies the lock in reports.
  public init(_ initialValue: consuming sending Value, fileID: StaticString = #fileID, line: UInt = #line) {
    mutex = Mutex(initialValue)
    identity = LockIdentity(CodeLocation(fileID: fileID, line: line))
  }

  /// Acquires the lock, waiting if necessary, and calls `body` while holding it. Cancelling the task does not end the wait.
  ///
  /// - Parameters:
  ///   - body: The function to call with the value. Acquiring the same lock within `body` is an error.
  ///   - fileID: The file that identifies the call in reports.
  ///   - line: The line that identifies the call in reports.
  /// - Returns: The result of `body`.
  /// - Throws: The error thrown by `body`.
  public borrowing func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result, fileID: StaticString = #fileID, line: UInt = #line
  ) throws(E) -> sending Result {
    guard let schedule = LockSchedules.current else { return try mutex.withLock(body) }
    schedule.lock(identity, at: CodeLocation(fileID: fileID, line: line))
    defer { schedule.unlock(identity) }
    return try mutex.withLock(body)
  }

  /// Calls `body` while holding the lock, unless the lock is already held.
  ///
  /// - Parameters:
  ///   - body: The function to call with the value.
  ///   - fileID: The file that identifies the call in reports.
  ///   - line: The line that identifies the call in reports.
  /// - Returns: The result of `body`; `nil` if the lock is held, even by the caller.
  /// - Throws: The error thrown by `body`.
  public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result, fileID: StaticString = #fileID, line: UInt = #line
  ) throws(E) -> sending Result? {
    guard let schedule = LockSchedules.current else { return try mutex.withLockIfAvailable(body) }
    guard schedule.lockIfAvailable(identity, at: CodeLocation(fileID: fileID, line: line)) else { return nil }
    defer { schedule.unlock(identity) }
    return try mutex.withLockIfAvailable(body)
  }
}
