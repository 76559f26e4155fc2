/// The reason why a node of a durable graph is executed, although there is a journal.
public enum ExecutionCause: Hashable, Codable, Sendable, CustomStringConvertible {
  /// The journal has no value of the node, in any version and for any input.
  case notRemembered
  /// The version of the node, or of the graph, was another one.
  case versionChanged
  /// The values of these dependencies have changed, or the node depends on others.
  case dependenciesChanged([String])
  /// These dependencies are executed, so that their values are not known yet.
  case dependenciesExecuted([String])
  /// The value of this type is not `Codable`, and a node that is executed, or the caller, needs it.
  case notCodable(String)

  /// The reason in a sentence: "its version has changed".
  public var description: String {
    switch self {
    case .notRemembered: "the journal has no value of it"
    case .versionChanged: "its version, or that of the graph, has changed"
    case .dependenciesChanged(let names): "its dependencies have changed: \(Self.list(names))"
    case .dependenciesExecuted(let names): "its dependencies are executed: \(Self.list(names))"
    case .notCodable(let type): "its value, a \(type), is not Codable, and is needed"
    }
  }

  private static func list(_ names: [String]) -> String { names.map(\.quoted).joined(separator: ", ") }
}
