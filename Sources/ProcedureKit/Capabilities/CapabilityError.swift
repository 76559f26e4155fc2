/// The reason why a capability cannot be used.
public enum CapabilityError: Error, Sendable, CustomStringConvertible {
  /// The capability does not exist on this system.
  case unavailable(capability: String)
  /// The status of the capability does not meet the requirement.
  case unauthorized(capability: String, status: any AuthorizationStatus)

  /// The error as a sentence, with the name of the capability.
  public var description: String {
    switch self {
    case .unavailable(let capability): "\(capability) is not available here"
    case .unauthorized(let capability, let status): "\(capability) is not authorized as needed: \(status)"
    }
  }
}
