import Synchronization

/// A `Mutex` whose operations are choices within an exploration.
///
/// A module opts in with one line, only in test builds. The module's own name hides the one in `Synchronization`:
///
/// ```swift
/// typealias Mutex = ExploredMutex
/// ```
///
/// Within an exploration of `TestingProcedureKit`, any ready task can run before the lock is taken. A task that requests a held lock waits
/// while other tasks run. If tasks are waiting for each other's locks, this is reported as a deadlock, with the locks, their holders and
/// the locations in the code. The same applies to a task that takes a lock that it already holds.
///
/// Outside explorations, and on threads that do not belong to one, the lock behaves like a `Mutex`. A lock that outlives a schedule makes
/// schedules depend on each other, so create locks within the explored body.
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

  /// Waits for the lock, and calls `body` while holding it. Cancelling the task does not end the wait.
  ///
  /// - Parameters:
  ///   - body: The function to call with the value. Taking the same lock within `body` is an error.
  ///   - fileID: The file of the call, for reports.
  ///   - line: The line of the call, for reports.
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
  ///   - fileID: The file of the call, for reports.
  ///   - line: The line of the call, for reports.
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
