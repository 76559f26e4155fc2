/// Internal. How runs come by the inbox, and what every visit to the lock sees to besides its own business.
///
/// All but `perform` is called under the lock.
extension QueueCore {
  /// Which runs that came by the inbox a visit has to know of.
  enum Arrivals {
    case all
    /// Those that may be next, as many as one visit can make use of: none of them waits for anything but a slot, so no
    /// worker gets past them. Nobody who follows somebody: see `admitFollowers`.
    case first
    /// It looks for itself.
    case none
  }

  /// How many runs are admitted for whoever wants to know of the next.
  private static let mostArrivalsAtOnce = 64

  /// Admits runs that came by the inbox.
  @inline(never)
  func admit(_ arrivals: Arrivals, _ state: inout QueueState) {
    switch arrivals {
    case .all: admit(atMost: .max, &state)
    case .first: if state.arrivalMayBeNext { admit(atMost: Self.mostArrivalsAtOnce, &state) }
    case .none: break
    }
  }

  /// Admits those that have come by the inbox to follow somebody.
  func admitFollowers(_ state: inout QueueState) {
    if state.hasFollowersInbox { admit(atMost: .max, &state) }
  }

  /// Has the first of those who follow somebody be known, if anybody does.
  func admitFirstFollower(_ state: inout QueueState) {
    if state.machine.firstFollower == nil, state.hasFollowersInbox { admit(atMost: 1, &state) }
  }

  private func admit(atMost most: Int, _ state: inout QueueState) {
    var left = most
    while left > 0, let run = state.takeArrival(from: inbox) {
      admit(run, &state)
      left -= 1
    }
  }

  func admit(_ run: DetachedRun, _ state: inout QueueState) {
    let added = state.machine.addedAtOnce(
      priority: run.priority, wantsResources: run.resources != nil, wish: run.resources?.wish ?? 0, claimsAtOnce: false)
    guard let (member, needsWorker) = added else {
      preconditionFailure("QueueCore: \(run.identity) came to the inbox of a queue that has been shut down")
    }
    state.seat(run, at: member)
    if needsWorker { state.wantedWorker = run.priority }
  }

  /// Admits what has come, and lets nothing come without a visit any more.
  func closeInbox(_ state: inout QueueState) {
    guard state.inboxWish != Inbox.closed else { return }
    inbox.close()
    admit(.all, &state)
    state.inboxWish = Inbox.closed
    state.releaseArrivals(of: inbox)
  }

  // MARK: The end of a visit

  /// What follows from a visit besides, now and then.
  struct Aftermath {
    /// The priority of a worker that has to be made.
    let worker: UInt8?
    let eventEffects: [EventEffect]
  }

  /// Opens or closes the inbox, and collects what is to be done outside.
  @inline(never)
  func takeAftermath(_ state: inout QueueState) -> Aftermath {
    if state.inboxWish == Inbox.plain {
      // It stays open as long as there is more in it, and a worker is made for that if none is on its way.
      if state.wantedInboxWish != Inbox.plain { state.refillArrivals(from: inbox) }
      if state.wantedInboxWish != Inbox.plain { admit(.first, &state) }
    }
    if state.inboxWish != state.wantedInboxWish { closeInbox(&state) }
    if state.inboxWish != state.wantedInboxWish { state.open(inbox, for: state.wantedInboxWish) }
    updateGate(state)
    return Aftermath(worker: state.wantedWorker.take(), eventEffects: state.eventEffects.takeAll())
  }

  @inline(never)
  func perform(_ aftermath: Aftermath) {
    for effect in aftermath.eventEffects { effect.perform() }
    if let worker = aftermath.worker { addWorker(priority: worker) }
  }
}
