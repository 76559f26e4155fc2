extension Condition {
  /// Returns a condition that is satisfied when `capability` is authorized, and otherwise fails with a
  /// ``CapabilityError``.
  ///
  /// The `prepare` step requests authorization if necessary; `.silent(.authorized(for:…))` only reads the status.
  /// Callers with an equal request share one answer (see ``Authorize``), and no slot is held meanwhile.
  ///
  /// - Parameters:
  ///   - capability: The capability to test.
  ///   - requirement: The required authorization.
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

  /// Returns a condition that is satisfied when a capability without a requirement is authorized; see
  /// ``authorized(for:_:)``.
  public static func authorized<C: Capability>(for capability: C) -> Condition where C.Status.Requirement == Void {
    authorized(for: capability, ())
  }
}
