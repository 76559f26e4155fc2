/// What a program is allowed to do with a ``Capability``.
public protocol AuthorizationStatus: Sendable {
  /// What can be needed; `Void` where there is only yes and no.
  associatedtype Requirement: Sendable

  /// Whether the status is enough for a requirement.
  func meets(_ requirement: Requirement) -> Bool
}
