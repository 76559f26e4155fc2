/// Makes sure that a capability is authorized: looks, asks if need be, and looks again.
///
/// Requests for capabilities of one type never overlap, wherever they come from. Who has the same question as the request
/// under way, of the same capability and with the same requirement, gets that answer, be it a refusal; nobody is asked
/// again. Capabilities and requirements are the same if they are equal, where they are `Equatable`, one object, or empty.
/// While somebody is asked, no slot of the queue is held.
public struct Authorize<C: Capability>: Procedure {
  private let capability: C
  private let requirement: C.Status.Requirement

  /// A procedure that authorizes a capability.
  ///
  /// - Parameters:
  ///   - capability: What is to be authorized.
  ///   - requirement: What is needed.
  public init(_ capability: C, _ requirement: C.Status.Requirement) {
    self.capability = capability
    self.requirement = requirement
  }

  /// Which capability is authorized.
  public var name: String { "authorize \(capability.name)" }

  /// Looks, asks and looks again. Cancelling the caller ends a wait for other requests at once.
  ///
  /// - Returns: A status that meets the requirement.
  /// - Throws: ``ProcedureError/capabilityUnavailable(procedure:underlying:)`` or
  ///   ``ProcedureError/capabilityUnauthorized(procedure:underlying:)`` around the ``CapabilityError``;
  ///   ``ProcedureError/exclusionDeadlock(procedure:circle:)`` where another request waits for what a body around this one
  ///   holds; what the capability throws; `CancellationError`, or the reason of the cancel.
  public func execute(_ input: Void) async throws -> C.Status {
    guard let context = ProcedureContext.current else { return try await ProcedureTask(executing: self).execute() }
    let run = context.run
    run.core.waitStarted(run)
    let result: Result<C.Status, any Error>
    do {
      result = .success(try await AuthorizationRequests.authorize(capability, requirement))
    } catch let error as CapabilityError {
      result = .failure(error.naming(ProcedureIdentity(id: context.id, name: name)))
    } catch {
      result = .failure(error)
    }
    await run.core.waitEnded(run)
    return try result.get()
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
  /// A procedure that authorizes a capability for which there is only yes and no.
  ///
  /// - Parameter capability: What is to be authorized.
  public init(_ capability: C) {
    self.init(capability, ())
  }
}
