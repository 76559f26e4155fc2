/// One procedure that waits for another because of a resource: a part of what ``ProcedureError/exclusionDeadlock(procedure:circle:)`` tells.
public struct ExclusionWait: Sendable, Hashable, CustomStringConvertible {
  /// Who waits.
  public let procedure: ProcedureIdentity
  /// For which category or resource.
  public let resource: String
  /// Who holds it.
  public let holder: ProcedureIdentity

  /// Who waits for what, and who holds that.
  public var description: String {
    "\(procedure) waits for \"\(resource)\", which \(holder) holds"
  }
}
