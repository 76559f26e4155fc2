/// Internal. Who is told what becomes of a claim that had to wait. Called outside of all locks.
protocol ResourceClaimant: AnyObject, Sendable {
  /// The claim holds all that it wants.
  func resourcesGranted()
  /// The claim would wait for ever.
  func resourcesRefused(_ waits: [ExclusionWait])
}

/// Internal. What one level of one run wants to hold, or holds: the owner of its part of the resources.
///
/// Invariant: `number` and `request` are guarded by the lock of `table`.
final class ResourceClaim: @unchecked Sendable {
  let table: ResourceTable
  /// The claim that it is inside of, in any table.
  let enclosing: ResourceClaim?
  let procedure: ProcedureIdentity
  private(set) weak var claimant: (any ResourceClaimant)?
  /// Its number and serial in the table's ledger; `nil` before it was made and after it has ended.
  var reference: ResourceLedger.Reference?

  init(
    in table: ResourceTable, inside enclosing: ResourceClaim?, of procedure: ProcedureIdentity,
    for claimant: (any ResourceClaimant)?
  ) {
    self.table = table
    self.enclosing = enclosing
    self.procedure = procedure
    self.claimant = claimant
  }
}
