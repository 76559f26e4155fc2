/// The identity and the name of a run, for errors and events.
public struct ProcedureIdentity: Hashable, Codable, Sendable, Identifiable, CustomStringConvertible {
  /// The run's identity.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String

  /// Makes the identity of a run.
  ///
  /// - Parameters:
  ///   - id: The run's identity.
  ///   - name: The procedure's name.
  public init(id: ProcedureID, name: String) {
    self.id = id
    self.name = name
  }

  /// The run in messages: `"Resize" (#42)`; a scope has no number. A long name is cut, and has no control characters there.
  public var description: String { id == .ofNoRun ? name.quoted : "\(name.quoted) (\(id))" }
}
