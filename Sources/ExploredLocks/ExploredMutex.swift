import Synchronization

/// A `Mutex` whose locking is a choice within an exploration.
///
/// Code opts in by one line, in builds for tests only, since the name in the module hides the name in `Synchronization`:
///
/// ```swift
/// typealias Mutex = ExploredMutex
/// ```
///
/// Within an exploration of `TestingProcedureKit`, any ready task can run before each locking. A task that asks for a
/// held lock waits, while other tasks run. Tasks that wait for each other's locks are reported as a deadlock, with the
/// locks, their holders and the locations in the code; so is a task that locks a lock that the task holds.
///
/// Outside of explorations, and on other threads, the lock is a `Mutex`. A lock that outlives a schedule makes schedules
/// depend on each other: make locks within the explored body.
public struct ExploredMutex<Value: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  private let identity: LockIdentity

  /// Makes a lock around a value.
  ///
  /// - Parameters:
  ///   - initialValue: The guarded value.
  ///   - fileID: The file that names the lock in reports.
  ///   - line: The line that names the lock in reports.
  public init(_ initialValue: consuming sending Value, fileID: StaticString = #fileID, line: UInt = #line) {
    mutex = Mutex(initialValue)
    identity = LockIdentity(CodeLocation(fileID: fileID, line: line))
  }

  /// Waits for the lock, and calls `body` under the lock. Cancelling does not end the wait.
  ///
  /// - Parameters:
  ///   - body: The function to call with the value. Locking the same lock within `body` is an error.
  ///   - fileID: The file of the locking in reports.
  ///   - line: The line of the locking in reports.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public borrowing func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result, fileID: StaticString = #fileID, line: UInt = #line
  ) throws(E) -> sending Result {
    guard let schedule = LockSchedules.current else { return try mutex.withLock(body) }
    schedule.lock(identity, at: CodeLocation(fileID: fileID, line: line))
    defer { schedule.unlock(identity) }
    return try mutex.withLock(body)
  }

  /// Calls `body` under the lock, unless the lock is held.
  ///
  /// - Parameters:
  ///   - body: The function to call with the value.
  ///   - fileID: The file of the locking in reports.
  ///   - line: The line of the locking in reports.
  /// - Returns: The result of `body`; `nil` if the lock is held, also by the caller.
  /// - Throws: The error of `body`.
  public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result, fileID: StaticString = #fileID, line: UInt = #line
  ) throws(E) -> sending Result? {
    guard let schedule = LockSchedules.current else { return try mutex.withLockIfAvailable(body) }
    guard schedule.lockIfAvailable(identity, at: CodeLocation(fileID: fileID, line: line)) else { return nil }
    defer { schedule.unlock(identity) }
    return try mutex.withLockIfAvailable(body)
  }
}
