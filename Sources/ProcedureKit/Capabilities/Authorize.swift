/// Authorizes a capability: reads the status, requests authorization if necessary, and reads the status again.
///
/// Requests for capabilities of one type never overlap in the process. Callers with an equal capability and an equal
/// requirement share the answer of the request under way, including a refusal. Capabilities and requirements are equal
/// as `Equatable` values, as one object, or as values of an empty type. A caller holds no slot during a request.
public struct Authorize<C: Capability>: InputlessProcedure {
  private let capability: C
  private let requirement: C.Status.Requirement

  /// Makes a procedure that authorizes a capability.
  ///
  /// - Parameters:
  ///   - capability: The capability to authorize.
  ///   - requirement: The required authorization.
  public init(_ capability: C, _ requirement: C.Status.Requirement) {
    self.capability = capability
    self.requirement = requirement
  }

  /// "authorize" and the name of the capability.
  public var name: String { "authorize \(capability.name)" }

  /// Reads the status, requests authorization if the status is insufficient, and reads the status again. Cancelling the
  /// caller ends a wait for other requests at once.
  ///
  /// - Returns: A status that meets the requirement.
  /// - Throws: ``ProcedureError/Kind/capabilityUnavailable`` or
  ///   ``ProcedureError/Kind/capabilityUnauthorized`` around the ``CapabilityError``;
  ///   ``ProcedureError/Kind/exclusionDeadlock`` if another request waits for a resource that an
  ///   enclosing body holds; the capability's errors; `CancellationError`, or the reason of the cancel.
  public func execute() async throws -> C.Status {
    guard let context = ProcedureContext.current else { return try await ProcedureTask(executing: self).execute() }
    do {
      return try await context.run.withSlotReleased {
        try await AuthorizationRequests.authorize(capability, requirement)
      }
    } catch let error as CapabilityError {
      throw error.naming(ProcedureIdentity(id: context.id, name: name))
    }
  }
}

extension CapabilityError {
  fileprivate func naming(_ procedure: ProcedureIdentity) -> ProcedureError {
    switch self {
    case .unavailable: .capabilityUnavailable(procedure: procedure, underlying: self)
    case .unauthorized: .capabilityUnauthorized(procedure: procedure, underlying: self)
    }
  }
}

extension Authorize where C.Status.Requirement == Void {
  /// Makes a procedure that authorizes a capability without a requirement.
  public init(_ capability: C) {
    self.init(capability, ())
  }
}
