import Synchronization

extension ProcedureContext {
  /// Calls `operation` while all that is requested is held, in addition to what is held already. No slot is held while this
  /// waits. Cancelling the run ends the wait.
  ///
  /// - Parameters:
  ///   - request: What is to be held; `nil` for nothing.
  ///   - table: Where it is claimed; `nil` for where the procedures of its queue claim what they need.
  ///   - name: Whose level it is, for errors.
  ///   - operation: Called with the claim in force.
  /// - Returns: What `operation` returns.
  /// - Throws: What `operation` throws; ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  func holding<R>(
    _ request: ResourceRequest?, in table: ResourceTable? = nil, name: String, operation: () async throws -> R
  ) async throws -> R {
    guard let request else { return try await operation() }
    let procedure = ProcedureIdentity(id: id, name: name)
    let wait = ClaimWait(scope: scope)
    let demands = ResourceDemands(request, in: table ?? scope.resourceTable)
    let hold = ResourceHold(
      ResourceClaim(demands, inside: hold, of: procedure, for: wait, priority: scope.linePriority))
    defer { ResourceTable.deliver(ResourceBook.shared.end(hold)) }
    try await place(hold.claim, wait)
    return try await holding(hold).run(operation)
  }

  /// What is held for the levels that a pause is in, and given back during it; innermost first.
  var holdsOfLevels: [ResourceHold] {
    guard let hold, hold != keptHold else { return [] }
    // Not up to the kept one itself: one that has ended is not among what a claim is inside of any more.
    let keptDepth = keptHold?.claim.depth ?? 0
    return Array(hold.chain.prefix { $0.claim.depth > keptDepth })
  }

  /// Claims again what was given back. No slot is held while this waits; cancelling the run ends the wait.
  ///
  /// - Parameter holds: Innermost first.
  /// - Throws: ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  func reclaim(_ holds: [ResourceHold]) async throws {
    for hold in holds.reversed() {
      let wait = ClaimWait(scope: scope)
      if ResourceBook.shared.renew(hold, for: wait) { try await place(hold.claim, wait) }
    }
  }

  private func place(_ claim: ResourceClaim, _ wait: ClaimWait) async throws {
    switch ResourceBook.shared.place(claim, for: claimRuns) {
    case .granted: break
    case .refused(let circle): throw ProcedureError.exclusionDeadlock(procedure: claim.procedure, circle: circle)
    case .waits(let news):
      ResourceTable.deliver(news)
      try await self.wait(for: wait, claim)
    }
  }

  private func wait(for wait: ClaimWait, _ claim: ResourceClaim) async throws {
    let innerWait = InnerWait(.resources(claim))
    scope.lendSlot()
    scope.waitStarted(innerWait)
    await withRunCancellationHandler(in: self, key: wait) {
      await wait.decision()
    } onCancel: {
      wait.cancel()
    }
    scope.waitEnded(innerWait)
    await scope.regainSlot(unlessCancelled: self)
    switch wait.takeResult() {
    // A cancel may have ended the wait for the slot, without which the level must not start.
    case .granted: try requireNotCancelled()
    case .refused(let circle): throw ProcedureError.exclusionDeadlock(procedure: claim.procedure, circle: circle)
    case .cancelled: throw cancellationReason ?? CancellationError()
    }
  }

  /// The runs that cannot end before something inside of this context has.
  var claimRuns: ResourceLedger.ClaimRuns {
    ResourceLedger.ClaimRuns(around: sequence(first: self, next: \.scope.parent).compactMap(\.scope.runNumbers))
  }
}

/// Internal. A task that waits for a claim to be granted.
private final class ClaimWait: ResourceClaimant {
  enum Result {
    case granted
    case refused([ExclusionWait])
    case cancelled
  }

  private struct State {
    /// Weak, since a claim keeps its claimant, and what waits may itself be inside of what keeps the claim. It is there as long
    /// as anybody waits or holds.
    weak var scope: ProcedureScope?
    var result: Result?
    var waiter: Waiter?
  }

  private let state: Mutex<State>

  init(scope: ProcedureScope) {
    state = Mutex(State(scope: scope))
  }

  func raise(to priority: TaskPriority) { state.withLock(\.scope)?.raise(to: priority) }

  func resourcesGranted() { decide(.granted) }

  func resourcesRefused(_ waits: [ExclusionWait]) { decide(.refused(waits)) }

  func cancel() { decide(.cancelled) }

  /// The first decision counts; a claim that is granted after a cancel is ended like any other.
  private func decide(_ result: Result) {
    let waiter = state.withLock { state -> Waiter? in
      guard state.result == nil else { return nil }
      state.result = result
      return state.waiter.take()
    }
    waiter?.resume()
  }

  /// Returns when it is decided what becomes of the claim.
  func decision() async {
    await Waiter.suspend { waiter in
      state.withLock { state in
        guard state.result == nil else { return false }
        state.waiter = waiter
        return true
      }
    }
  }

  /// What was decided, once: it refers to keys of the user's, and the claim may let go of this under a lock.
  func takeResult() -> Result {
    let result = state.withLock { state in
      defer { state.result = .cancelled }
      return state.result
    }
    guard let result else { preconditionFailure("ClaimWait: nothing was decided") }
    return result
  }
}
