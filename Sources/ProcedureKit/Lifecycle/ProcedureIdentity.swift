/// Which run of which procedure: what errors and events name.
public struct ProcedureIdentity: Hashable, Sendable, Identifiable, CustomStringConvertible {
  /// The run.
  public let id: ProcedureID
  /// The procedure's name.
  public let name: String

  /// Names a run.
  ///
  /// - Parameters:
  ///   - id: The run.
  ///   - name: The procedure's name.
  public init(id: ProcedureID, name: String) {
    self.id = id
    self.name = name
  }

  /// The run as users read it in messages: `"Resize" (#42)`.
  public var description: String {
    "\"\(name)\" (\(id))"
  }
}
