/// Reads the authorization of a capability, without asking anybody.
public struct GetAuthorizationStatus<C: Capability>: InputlessProcedure {
  private let capability: C

  /// Makes a procedure that reads the authorization of a capability.
  public init(_ capability: C) {
    self.capability = capability
  }

  /// "status of" and the name of the capability.
  public var name: String { "status of \(capability.name)" }

  /// Reads the status. Cancelling the caller cancels the capability's functions.
  ///
  /// - Returns: The status; `nil` if the capability is not available.
  /// - Throws: The capability's errors.
  public func execute() async throws -> C.Status? {
    guard await capability.isAvailable() else { return nil }
    return try await capability.authorizationStatus()
  }
}
