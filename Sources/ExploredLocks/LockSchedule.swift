import Synchronization

/// A schedule that determines the order of operations on locks and atomics.
package protocol LockSchedule: Sendable {
  /// Lets other tasks run and then acquires `lock` as soon as no other task holds it.
  func lock(_ lock: LockIdentity, at location: CodeLocation)

  /// Lets other tasks run and then acquires `lock` unless a task already holds it.
  ///
  /// - Returns: Whether the lock was acquired.
  func lockIfAvailable(_ lock: LockIdentity, at location: CodeLocation) -> Bool

  /// Releases `lock`.
  func unlock(_ lock: LockIdentity)

  /// Lets other tasks run before an atomic operation.
  func willPerform(_ operation: StaticString, on atomic: CodeLocation)
}

/// The registry through which locks and atomics find the schedule that is running on the calling thread.
package enum LockSchedules {
  /// A wrapper for the closure that finds the schedule. If the generic type `Mutex` stored the closure itself, each access would wrap the
  /// closure in another reabstraction thunk.
  private final class Finder: Sendable {
    let find: @Sendable () -> (any LockSchedule)?

    init(_ find: @escaping @Sendable () -> (any LockSchedule)?) { self.find = find }
  }

  private static let isInstalled = Atomic(false)
  private static let finder = Mutex<Finder?>(nil)

  /// Installs the function that returns the calling thread's schedule. The explorer calls this function.
  package static func install(_ find: @escaping @Sendable () -> (any LockSchedule)?) {
    let new = Finder(find)
    finder.withLock { $0 = new }
    isInstalled.store(true, ordering: .releasing)
  }

  /// The schedule that is running on the calling thread; `nil` outside an exploration.
  static var current: (any LockSchedule)? {
    guard isInstalled.load(ordering: .acquiring) else { return nil }
    return finder.withLock { $0 }?.find()
  }
}
