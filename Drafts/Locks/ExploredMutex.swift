import Synchronization

/// A `Mutex` whose locking is a scheduling choice within an exploration.
///
/// Code opts in by a type alias, in a build for tests only:
///
/// ```swift
/// typealias Mutex = ExploredMutex
/// ```
///
/// Before the lock is taken, every ready job can run first. The body under the lock is not interrupted: every order
/// with an interruption has the effects of an order without one, apart from deadlocks. The explorer therefore finds
/// deadlocks by the order of locks: a schedule fails in which one lock is taken under another, and the other under the
/// first, directly or in a circle, even if the schedule itself does not stand still. Outside of explorations, the lock
/// is a `Mutex`.
public struct ExploredMutex<Value: ~Copyable>: ~Copyable {
  private let mutex: Mutex<Value>
  private let identity: LockIdentity

  /// Makes a lock around `initialValue`.
  ///
  /// - Parameters:
  ///   - initialValue: The guarded value.
  ///   - fileID: The file in reports.
  ///   - line: The line in reports.
  public init(_ initialValue: consuming sending Value, fileID: StaticString = #fileID, line: UInt = #line) {
    mutex = Mutex(initialValue)
    identity = LockIdentity(fileID: fileID, line: line)
  }

  /// Waits for the lock, and calls `body` under the lock.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public borrowing func withLock<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result
  ) throws(E) -> sending Result {
    let exploration = LockedSection.begin(identity)
    defer { exploration?.end() }
    return try mutex.withLock(body)
  }

  /// Calls `body` under the lock, unless the lock is held.
  ///
  /// - Returns: The result of `body`; `nil` if the lock is held.
  /// - Throws: The error of `body`.
  public borrowing func withLockIfAvailable<Result: ~Copyable, E: Error>(
    _ body: (inout sending Value) throws(E) -> sending Result
  ) throws(E) -> sending Result? {
    let exploration = LockedSection.begin(identity)
    defer { exploration?.end() }
    return try mutex.withLockIfAvailable(body)
  }
}

