/// Internal. How runs go that need nothing but a slot, and find one free: in two short visits to the lock.
///
/// Nothing of this is generic, so that ``ProcedureQueue/run(_:input:)`` can call the body where the types are known. What
/// does not fit goes the long way, which can take over before the body and after it.
extension QueueCore {
  /// Starts a run, if nothing has to be waited for and nobody has to be told of it.
  ///
  /// - Parameters:
  ///   - name: What errors and events call it.
  ///   - priority: Its own, if it has one.
  ///   - isBare: Whether nothing has to happen around its operation.
  /// - Returns: The run, whose body has started; `nil` if it has to go the long way, and nothing has happened yet.
  @usableFromInline
  func start(_ name: String, _ priority: TaskPriority?, isBare: Bool) -> StructuredRun? {
    guard isBare, isPlain, !broadcaster.isObserved, ProcedureContext.current == nil, !Task.isCancelled else {
      return nil
    }
    let run = StructuredRun(name: name, admission: .free, limit: nil, core: self, parent: nil)
    let priority = (priority ?? Task.currentPriority).rawValue
    return withState { $0.startAtOnce(run, priority) } ? run : nil
  }

  /// The body has returned. Says whether that is the end of the run; if not, the other `finish` has to follow.
  @usableFromInline
  func finish(_ run: StructuredRun) -> Bool {
    guard run.endProduction() == nil, !broadcaster.isObserved, !Task.isCancelled else { return false }
    return withState { $0.finishAtOnce(run) }
  }

  /// The same, whatever the body has come to and whatever has to follow.
  @usableFromInline
  func finish<Output: Sendable>(_ run: StructuredRun, _ result: Result<Output, any Error>) async throws -> Output {
    try await leaveLongWay(run, result)
  }
}

extension QueueState {
  /// Admits a run and starts its body, if there is a slot for it now. Says whether it did; if not, nothing has happened.
  fileprivate mutating func startAtOnce(_ run: StructuredRun, _ priority: UInt8) -> Bool {
    guard !isDoomed, let member = machine.startedAtOnce(priority: priority) else { return false }
    seat(run, at: member)
    return true
  }

  /// Ends a run whose body has returned, if nobody waits for that or for its slot. Says whether it did; if not, nothing has
  /// happened.
  fileprivate mutating func finishAtOnce(_ run: StructuredRun) -> Bool {
    guard run.cancellation == nil, idleWaiters.isEmpty, emptyWaiters.isEmpty, !isOrphaned,
      machine.finishedAtOnce(run.member)
    else { return false }
    holders[Int(run.member)] = nil
    run.member = -1
    if machine.members.isEmpty { holders = [] }
    return true
  }
}
