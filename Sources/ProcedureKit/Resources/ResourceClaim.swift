/// Internal. Who is told what becomes of a claim that had to wait. Called outside of all locks.
protocol ResourceClaimant: AnyObject, Sendable {
  /// The claim holds all that it wants.
  func resourcesGranted()
  /// The claim would wait for ever.
  func resourcesRefused(_ waits: [ExclusionWait])
  /// What it holds is waited for by something of this priority.
  func raise(to priority: TaskPriority)
}

/// Internal. What one level of one run wants to hold, or holds: the owner of its part of the resources.
///
/// Runs that follow each other pass it on, with all that it holds: see ``ResourceHold``.
///
/// Invariant: all that changes is guarded by the lock of ``ResourceBook``. All but `priority` and `reference` is changed only by
/// whoever has the claim, a level or a run, who may read it without that lock. `procedure` and `passes` change only where it is
/// passed on, which is also done under the lock of the runs' queue: so that this is enough for reading these. A claim has a
/// claimant from its placing until its end, and news have the claimant of their time.
final class ResourceClaim: @unchecked Sendable {
  /// What it is inside of, in any table, unless that has ended before it.
  private(set) var enclosing: ResourceHold?
  /// How many it was inside of when it was made, and itself.
  let depth: Int32
  private(set) var procedure: ProcedureIdentity
  var claimant: (any ResourceClaimant)?
  /// How often it has been passed on.
  private(set) var passes: UInt64 = 0
  /// What it wants, and what all want to whom it is passed on.
  let wants: ResourceDemands
  /// Its own priority, or the highest of those that have come to wait for it.
  var priority: UInt8
  /// Its number and serial in the ledger; `nil` before it was made and after it has ended.
  var reference: ResourceLedger.Reference?
  /// When it was granted, if that was all of one thing and nobody waited for it then.
  var turn: Turn?

  /// A moment at which nobody waited for one thing.
  struct Turn {
    /// The serial of the claim that was granted: who comes then comes before all claims of higher ones.
    var serial: UInt64 = 0
    /// How many claims had come to wait for that thing.
    var waits: UInt64 = 0
  }

  init(
    _ wants: ResourceDemands, inside enclosing: ResourceHold?, of procedure: ProcedureIdentity,
    for claimant: any ResourceClaimant, priority: UInt8
  ) {
    self.wants = wants
    self.enclosing = enclosing
    depth = (enclosing?.claim.depth ?? 0) + 1
    self.procedure = procedure
    self.claimant = claimant
    self.priority = priority
  }

  // MARK: Called under the lock

  /// It belongs to another run from now on, and is over for whatever is inside of the former one.
  ///
  /// - Returns: Its former claimant.
  func passedOn(to other: any ResourceClaimant, of procedure: ProcedureIdentity) -> (any ResourceClaimant)? {
    let former = claimant.take()
    (self.procedure, claimant, passes) = (procedure, other, passes + 1)
    return former
  }

  /// It has ended, and does not keep what it was inside of if that has ended as well.
  ///
  /// - Returns: What was let go of.
  func ended() -> ResourceHold? {
    reference = nil
    guard let former = enclosing, former.reference == nil else { return nil }
    while let hold = enclosing, hold.reference == nil { enclosing = hold.claim.enclosing }
    return former
  }
}

/// Internal. What a body holds: a claim, until that has ended or has been passed on to another run.
struct ResourceHold: Sendable, Equatable {
  let claim: ResourceClaim
  private let passes: UInt64

  /// Made by whoever has the claim.
  init(_ claim: ResourceClaim) {
    (self.claim, passes) = (claim, claim.passes)
  }

  static func == (one: ResourceHold, other: ResourceHold) -> Bool {
    one.claim === other.claim && one.passes == other.passes
  }

  /// Whether it has been passed on; under the lock.
  var isPassedOn: Bool { claim.passes != passes }

  /// Where it stands in the ledger, if it does; under the lock.
  var reference: ResourceLedger.Reference? { isPassedOn ? nil : claim.reference }

  /// This, and all that it is inside of.
  var chain: UnfoldFirstSequence<ResourceHold> { sequence(first: self, next: \.claim.enclosing) }

  /// Whether all is held that is wanted.
  var isHeld: Bool { ResourceBook.shared.isHeld(self) }
}
