/// A facility that may require authorization, such as a camera, a folder or an account.
///
/// A capability can report its current authorization and request authorization from the user. The procedures ``GetAuthorizationStatus`` and
/// ``Authorize`` work with any capability, as does the condition ``Condition/authorized(for:_:)``.
public protocol Capability<Status>: Sendable {
  /// The type that describes the app's authorization.
  associatedtype Status: AuthorizationStatus

  /// The name of the capability in errors and prompts. The default is the name of the type.
  var name: String { get }

  /// Returns whether the capability exists on this system. The function returns an answer even if the caller is cancelled.
  func isAvailable() async -> Bool

  /// Returns the current authorization without prompting the user. The function can throw if the caller is cancelled.
  ///
  /// - Returns: The current status.
  /// - Throws: An error if the status cannot be read.
  func authorizationStatus() async throws -> Status

  /// Requests authorization, usually by prompting the user. The function should throw when the caller is cancelled.
  ///
  /// Requests for capabilities of the same type never overlap, and callers that make equal requests share one answer. The caller holds no
  /// slot during the request. The function can run procedures and can itself request other authorizations.
  ///
  /// - Parameter requirement: The required authorization.
  /// - Throws: An error if the request could not be made. A refusal by the user is not an error, but is reflected in the status.
  func requestAuthorization(_ requirement: Status.Requirement) async throws
}

extension Capability {
  /// The name of the type.
  public var name: String {
    String(describing: Self.self)
  }
}

/// The app's authorization to use a ``Capability``.
public protocol AuthorizationStatus: Sendable {
  /// The type of a requirement that a status can meet; `Void` for a capability that is either authorized or not.
  associatedtype Requirement: Sendable

  /// Returns whether the status meets `requirement`.
  func meets(_ requirement: Requirement) -> Bool
}

/// The reason a capability cannot be used.
@nonexhaustive
public enum CapabilityError: Error, Sendable, CustomStringConvertible {
  /// The capability does not exist on this system.
  case unavailable(capability: String)
  /// The status of the capability does not meet the requirement.
  case unauthorized(capability: String, status: any AuthorizationStatus)

  /// A sentence that describes the error and names the capability.
  public var description: String {
    switch self {
    case .unavailable(let capability): "\(capability) is not available on this system"
    case .unauthorized(let capability, let status): "\(capability) is not sufficiently authorized: \(status)"
    }
  }
}
