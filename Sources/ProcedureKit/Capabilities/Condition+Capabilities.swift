extension Condition {
  /// Satisfied when a capability is authorized; fails with a ``CapabilityError`` where it is not, or not available.
  ///
  /// Its `prepare` step asks for authorization if need be; `.silent(.authorized(for:…))` only looks. Nobody is asked twice
  /// at the same time, who has the same question gets the same answer (see ``Authorize``), and no slot is held meanwhile.
  ///
  /// - Parameters:
  ///   - capability: What has to be authorized.
  ///   - requirement: What is needed.
  /// - Returns: The condition.
  public static func authorized<C: Capability>(for capability: C, _ requirement: C.Status.Requirement) -> Condition {
    Condition(
      "\(capability.name) is authorized",
      prepare: { _ = try await AuthorizationRequests.authorize(capability, requirement) },
      evaluate: {
        guard await capability.isAvailable() else { throw CapabilityError.unavailable(capability: capability.name) }
        let status = try await capability.authorizationStatus()
        guard status.meets(requirement) else {
          throw CapabilityError.unauthorized(capability: capability.name, status: status)
        }
        return true
      })
  }

  /// Satisfied when a capability is authorized for which there is only yes and no; see ``authorized(for:_:)``.
  ///
  /// - Parameter capability: What has to be authorized.
  /// - Returns: The condition.
  public static func authorized<C: Capability>(for capability: C) -> Condition where C.Status.Requirement == Void {
    authorized(for: capability, ())
  }
}
