/// Internal. The receiver of a waiting claim's outcome, called outside of all locks.
protocol ResourceClaimant: AnyObject, Sendable {
  /// Reports that the claim holds all demanded resources.
  func resourcesGranted()
  /// Reports that the claim would wait forever.
  func resourcesRefused(_ waits: [ExclusionWait])
  /// Raises the priority of the run: a run of this priority waits for a resource of the claim.
  func raise(to priority: TaskPriority)
}

/// Internal. The claim of one level of a run: the owner of the level's resources.
///
/// A claim and its resources can pass from a run to the next; see ``ResourceHold``.
///
/// Invariant: the lock of ``ResourceBook`` guards every change. Only the owner (a level or a run) changes properties
/// other than `priority` and `reference`, and the owner may read these properties without the lock. Passing a claim on
/// changes `procedure` and `passes` under the lock of the runs' queue, too; either lock suffices for reading. A claim
/// has a claimant from the start of the wait to the end of the claim. A notification keeps the claimant of its time.
final class ResourceClaim: @unchecked Sendable {
  /// The enclosing claim in any table; `nil` after the enclosing claim has ended.
  private(set) var enclosing: ResourceHold?
  /// The number of enclosing claims at creation, plus one.
  let depth: Int32
  private(set) var procedure: ProcedureIdentity
  var claimant: (any ResourceClaimant)?
  /// The number of times the claim has been passed on.
  private(set) var passes: UInt64 = 0
  /// The demands, which are equal for all runs to which the claim is passed.
  let wants: ResourceDemands
  /// The claim's own priority, or the highest priority among the runs that wait for the claim.
  var priority: UInt8
  /// The claim's number and serial in the ledger; `nil` before the claim is made and after the claim has ended.
  var reference: ResourceLedger.Reference?
  /// The instant of the grant; `nil` unless the claim is for the whole of one resource for which nobody waited.
  var turn: Turn?

  /// An instant at which nobody waited for a resource.
  struct Turn {
    /// The serial of the granted claim. A claim that arrives at the instant precedes all claims with higher serials.
    var serial: UInt64 = 0
    /// The number of claims that had waited for the resource before.
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

  /// Transfers the claim to another run, and ends the hold of the former run.
  ///
  /// - Returns: The former claimant.
  func passedOn(to other: any ResourceClaimant, of procedure: ProcedureIdentity) -> (any ResourceClaimant)? {
    let former = claimant.take()
    (self.procedure, claimant, passes) = (procedure, other, passes + 1)
    return former
  }

  /// Ends the claim, and releases enclosing claims that have ended.
  ///
  /// - Returns: The released hold.
  func ended() -> ResourceHold? {
    reference = nil
    guard let former = enclosing, former.reference == nil else { return nil }
    while let hold = enclosing, hold.reference == nil { enclosing = hold.claim.enclosing }
    return former
  }
}

/// Internal. The hold of a body on a claim, until the claim ends or is passed to another run.
struct ResourceHold: Sendable, Equatable {
  let claim: ResourceClaim
  private let passes: UInt64

  /// Makes a hold of the owner of `claim`.
  init(_ claim: ResourceClaim) {
    (self.claim, passes) = (claim, claim.passes)
  }

  static func == (one: ResourceHold, other: ResourceHold) -> Bool {
    one.claim === other.claim && one.passes == other.passes
  }

  /// Whether the claim has been passed on. Read under the lock.
  var isPassedOn: Bool { claim.passes != passes }

  /// The claim's reference in the ledger; `nil` after the hold has ended. Read under the lock.
  var reference: ResourceLedger.Reference? { isPassedOn ? nil : claim.reference }

  /// The hold, followed by all enclosing holds.
  var chain: UnfoldFirstSequence<ResourceHold> { sequence(first: self, next: \.claim.enclosing) }

  /// Whether the claim holds all demanded resources.
  var isHeld: Bool { ResourceBook.shared.isHeld(self) }
}
