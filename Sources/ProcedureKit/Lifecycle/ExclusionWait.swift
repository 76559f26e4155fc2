/// One wait of a deadlock that ``ProcedureError/Kind/exclusionDeadlock`` reports: a procedure, the
/// resource it waits for, and the holder.
public struct ExclusionWait: Sendable, Hashable, CustomStringConvertible {
  /// The waiting procedure.
  public let procedure: ProcedureIdentity
  /// The description of the category or resource.
  public var resource: String { "\(key)" }
  /// The procedure that holds the resource.
  public let holder: ProcedureIdentity
  /// The user's category or the resource's name. The description is computed on reading, since it can be the user's
  /// code.
  private let key: any CustomStringConvertible & Sendable

  init(procedure: ProcedureIdentity, key: any CustomStringConvertible & Sendable, holder: ProcedureIdentity) {
    (self.procedure, self.key, self.holder) = (procedure, key, holder)
  }

  /// Returns whether both waits have equal procedures, resources and holders.
  public static func == (one: ExclusionWait, other: ExclusionWait) -> Bool {
    one.procedure == other.procedure && one.resource == other.resource && one.holder == other.holder
  }

  /// Hashes the procedure, the resource and the holder.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(procedure)
    hasher.combine(resource)
    hasher.combine(holder)
  }

  /// The wait as a sentence: the waiting procedure, the resource and the holder.
  public var description: String {
    "\(procedure) waits for \"\(resource)\", which \(holder) holds"
  }
}
