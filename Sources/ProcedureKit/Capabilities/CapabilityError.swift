/// Why a capability cannot be used.
public enum CapabilityError: Error, Sendable, CustomStringConvertible {
  /// It does not exist here.
  case unavailable(capability: String)
  /// The program is not allowed what it needs.
  case unauthorized(capability: String, status: any AuthorizationStatus)

  /// What happened, to which capability.
  public var description: String {
    switch self {
    case .unavailable(let capability): "\(capability) is not available here"
    case .unauthorized(let capability, let status): "\(capability) is not authorized as needed: \(status)"
    }
  }
}
