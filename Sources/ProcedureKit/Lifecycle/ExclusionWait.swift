/// One procedure that waits for another because of a resource: a part of what ``ProcedureError/exclusionDeadlock(procedure:circle:)`` tells.
public struct ExclusionWait: Sendable, Hashable, CustomStringConvertible {
  /// Who waits.
  public let procedure: ProcedureIdentity
  /// For which category or resource.
  public var resource: String { "\(key)" }
  /// Who holds it.
  public let holder: ProcedureIdentity
  /// What describes the resource: asked when it is read, since it may be a value of the user's.
  private let key: any CustomStringConvertible & Sendable

  init(procedure: ProcedureIdentity, key: any CustomStringConvertible & Sendable, holder: ProcedureIdentity) {
    self.procedure = procedure
    self.key = key
    self.holder = holder
  }

  /// Whether both are the same.
  public static func == (one: ExclusionWait, other: ExclusionWait) -> Bool {
    one.procedure == other.procedure && one.resource == other.resource && one.holder == other.holder
  }

  /// Hashes all of it.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(procedure)
    hasher.combine(resource)
    hasher.combine(holder)
  }

  /// Who waits for what, and who holds that.
  public var description: String {
    "\(procedure) waits for \"\(resource)\", which \(holder) holds"
  }
}
