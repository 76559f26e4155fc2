/// A facility that may require authorization: a camera, a folder, an account.
///
/// A capability is a value that can read and request its authorization. The procedures ``GetAuthorizationStatus`` and
/// ``Authorize`` use a capability, as does the condition ``Condition/authorized(for:_:)``.
public protocol Capability<Status>: Sendable {
  /// The authorization that the app has.
  associatedtype Status: AuthorizationStatus

  /// The name in errors and prompts. The default is the name of the type.
  var name: String { get }

  /// Returns whether the capability exists on this system. A cancelled caller still gets an answer.
  func isAvailable() async -> Bool

  /// Returns the current authorization, without asking the user. The function may throw if the caller is cancelled.
  ///
  /// - Returns: The status.
  /// - Throws: An error if the status cannot be read.
  func authorizationStatus() async throws -> Status

  /// Requests authorization, usually from the user. The function should throw when the caller is cancelled.
  ///
  /// Requests for capabilities of one type never overlap, and callers with an equal request share the answer. The request holds no
  /// slot. The function can run procedures and can require other authorizations.
  ///
  /// - Parameter requirement: The required authorization.
  /// - Throws: An error if the request could not be made. A refusal is not an error: the status reports a refusal.
  func requestAuthorization(_ requirement: Status.Requirement) async throws
}

extension Capability {
  /// The name of the type.
  public var name: String {
    String(describing: Self.self)
  }
}

/// The authorization of an app to use a ``Capability``.
public protocol AuthorizationStatus: Sendable {
  /// The type of a requirement; `Void` if the capability is either allowed or not.
  associatedtype Requirement: Sendable

  /// Returns whether the status meets `requirement`.
  func meets(_ requirement: Requirement) -> Bool
}

/// The reason why a capability cannot be used.
public enum CapabilityError: Error, Sendable, CustomStringConvertible {
  /// The capability does not exist on this system.
  case unavailable(capability: String)
  /// The status of the capability does not meet the requirement.
  case unauthorized(capability: String, status: any AuthorizationStatus)

  /// The error as a sentence, with the name of the capability.
  public var description: String {
    switch self {
    case .unavailable(let capability): "\(capability) is not available on this system"
    case .unauthorized(let capability, let status): "\(capability) is not authorized as required: \(status)"
    }
  }
}
