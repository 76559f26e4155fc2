/// The authorization of a program to use a ``Capability``.
public protocol AuthorizationStatus: Sendable {
  /// The type of a requirement; `Void` if the capability is either allowed or not.
  associatedtype Requirement: Sendable

  /// Returns whether the status meets `requirement`.
  func meets(_ requirement: Requirement) -> Bool
}
