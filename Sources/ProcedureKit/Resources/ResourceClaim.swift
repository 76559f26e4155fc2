/// Internal. Who is told what becomes of a claim that had to wait. Called outside of all locks.
protocol ResourceClaimant: AnyObject, Sendable {
  /// The claim holds all that it wants.
  func resourcesGranted()
  /// The claim would wait for ever.
  func resourcesRefused(_ waits: [ExclusionWait])
  /// What it holds is waited for by something of this priority.
  func raise(to priority: TaskPriority)
  /// What it wants, if that is the same as long as it is there.
  var lastingDemands: ResourceDemands? { get }
}

extension ResourceClaimant {
  var lastingDemands: ResourceDemands? { nil }
}

/// Internal. What one level of one run wants to hold, or holds: the owner of its part of the resources.
///
/// Invariant: `priority`, `reference`, `placedWants`, `turn` and `enclosing` are guarded by the lock of ``ResourceBook``; the
/// latter three are changed only for whoever made the claim, who may read them without. `claimant` is changed only by whoever
/// made the claim, between an end of it and its next placing, when nobody else looks at it; news have the claimant of their
/// time. A claim keeps its claimant until it is let go of, which whoever made it does when it has ended.
final class ResourceClaim: @unchecked Sendable {
  /// The claim that it is inside of, in any table, unless that has ended before it.
  private(set) var enclosing: ResourceClaim?
  /// How many it was inside of when it was made, and itself.
  let depth: Int32
  let procedure: ProcedureIdentity
  var claimant: any ResourceClaimant
  /// What it was placed for the last time; read without the lock by whoever made it. `nil` where it has been passed on what it
  /// holds, and its claimant knows it: all who want that count their references to it.
  var placedWants: ResourceDemands?
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
    inside enclosing: ResourceClaim?, of procedure: ProcedureIdentity, for claimant: any ResourceClaimant,
    priority: UInt8
  ) {
    self.enclosing = enclosing
    depth = (enclosing?.depth ?? 0) + 1
    self.procedure = procedure
    self.claimant = claimant
    self.priority = priority
  }

  /// It has ended, and does not keep what it was inside of if that has ended as well; under the lock.
  ///
  /// - Returns: What was let go of.
  func forgetEnded() -> ResourceClaim? {
    guard let former = enclosing, former.reference == nil else { return nil }
    while let claim = enclosing, claim.reference == nil { enclosing = claim.enclosing }
    return former
  }

  /// What it holds or claims, or did.
  var wants: ResourceDemands? { placedWants ?? claimant.lastingDemands }

  /// Whether it was placed for this key; under the lock.
  func wants(_ entry: ResourceEntry) -> Bool {
    wants?.demands.contains { $0.entry === entry } ?? false
  }

  /// Claims all that is wanted; see ``ResourceBook/place(_:_:inTurn:for:)``.
  func place(_ wants: ResourceDemands, inTurn turn: Turn? = nil, for runs: ResourceLedger.ClaimRuns)
    -> ResourceTable.Answer
  {
    ResourceBook.shared.place(self, wants, inTurn: turn, for: runs)
  }

  /// Passes on what it holds to a claim that wants the same, before anybody who waits for that; see
  /// ``ResourceBook/passOn(_:to:for:)``.
  func passOn(to other: ResourceClaim, for runs: ResourceLedger.ClaimRuns) -> UInt8? {
    ResourceBook.shared.passOn(self, to: other, for: runs)
  }

  /// Gives back what it holds, or withdraws it.
  ///
  /// - Returns: Who is granted by that.
  func end() -> ResourceTable.News { ResourceBook.shared.end(self) }

  /// Whether it holds all that it wants.
  var isHeld: Bool { ResourceBook.shared.isHeld(self) }
}
