/// The part of a schedule in which an explored lock is held, without interruptions.
struct LockedSection: ~Copyable {
  private let lock: LockIdentity
  private let executor: ScheduleExecutor
  private let environment: ExplorationEnvironment

  /// Offers the turn to the other ready jobs, and begins a section that is not interrupted; `nil` outside of
  /// explorations.
  static func begin(_ lock: LockIdentity) -> LockedSection? {
    guard let executor = ScheduleExecutor.current, let environment = executor.environment else { return nil }
    executor.offerTurn()
    if let cycle = environment.willLock(lock) {
      let names = (cycle + [lock]).map(\.description).joined(separator: ", then ")
      _ = ExplorationEnvironment.report("locks are taken in a circle: \(names)", fileID: lock.fileID, line: lock.line)
    }
    executor.beginUninterrupted()
    return LockedSection(lock: lock, executor: executor, environment: environment)
  }

  consuming func end() {
    executor.endUninterrupted()
    environment.didUnlock(lock)
  }
}
