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
/// Invariant: `priority`, `reference` and `request` are guarded by the lock of `table`. `claimant` is changed only by whoever
/// made the claim, between an end of it and its next placing, when nobody else looks at it; news have the claimant of their
/// time. A claim keeps its claimant until it is let go of, which whoever made it does when it has ended.
final class ResourceClaim: @unchecked Sendable {
  let table: ResourceTable
  /// The claim that it is inside of, in any table.
  let enclosing: ResourceClaim?
  let procedure: ProcedureIdentity
  var claimant: any ResourceClaimant
  /// What it was placed for the last time.
  var request: ResourceRequest?
  /// Its own priority, or the highest of those that have come to wait for it.
  var priority: UInt8
  /// Its number and serial in the table's ledger; `nil` before it was made and after it has ended.
  var reference: ResourceLedger.Reference?

  init(
    in table: ResourceTable, inside enclosing: ResourceClaim?, of procedure: ProcedureIdentity,
    for claimant: any ResourceClaimant, priority: UInt8
  ) {
    self.table = table
    self.enclosing = enclosing
    self.procedure = procedure
    self.claimant = claimant
    self.priority = priority
  }

  /// Whether it holds all that it wants.
  var isHeld: Bool { table.isHeld(self) }
}
