/// Tells what the program is allowed to do with a capability; asks nobody.
public struct GetAuthorizationStatus<C: Capability>: Procedure {
  private let capability: C

  /// A procedure that tells a capability's status.
  ///
  /// - Parameter capability: Whose status is to be told.
  public init(_ capability: C) {
    self.capability = capability
  }

  /// Which capability's status is told.
  public var name: String { "status of \(capability.name)" }

  /// Looks. Cancelling the caller is passed on to the capability.
  ///
  /// - Returns: The status; `nil` where the capability is not available.
  /// - Throws: What the capability throws.
  public func execute(_ input: Void) async throws -> C.Status? {
    guard await capability.isAvailable() else { return nil }
    return try await capability.authorizationStatus()
  }
}
