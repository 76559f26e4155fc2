import Synchronization

/// A schedule that decides the order of lockings and atomic operations.
package protocol LockSchedule: Sendable {
  /// Lets other tasks go first, and takes `lock` when no other task holds the lock.
  func lock(_ lock: LockIdentity, at location: CodeLocation)

  /// Lets other tasks go first, and takes `lock` unless a task holds the lock.
  ///
  /// - Returns: Whether the lock was taken.
  func lockIfAvailable(_ lock: LockIdentity, at location: CodeLocation) -> Bool

  /// Gives `lock` back.
  func unlock(_ lock: LockIdentity)

  /// Lets other tasks go first, before an atomic operation.
  func willPerform(_ operation: StaticString, on atomic: CodeLocation)
}

/// The way from a lock to the schedule of the calling thread.
package enum LockSchedules {
  private static let isInstalled = Atomic(false)
  private static let find = Mutex<(@Sendable () -> (any LockSchedule)?)?>(nil)

  /// Lets locks find the schedule of the calling thread by `find`. Called by the explorer.
  package static func install(_ find: @escaping @Sendable () -> (any LockSchedule)?) {
    Self.find.withLock { $0 = find }
    isInstalled.store(true, ordering: .releasing)
  }

  /// The schedule that runs on the calling thread; `nil` outside of explorations.
  static var current: (any LockSchedule)? {
    guard isInstalled.load(ordering: .acquiring) else { return nil }
    return find.withLock { $0 }?()
  }
}
