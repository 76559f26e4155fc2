/// Makes sure that a capability is authorized: looks, asks if need be, and looks again.
///
/// Requests for capabilities of one type never overlap, wherever they come from, and whoever waited for another's answer
/// does not ask again if that is enough. While somebody is asked, no slot of the queue is held.
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
  /// - Throws: ``CapabilityError`` where it is not available or was refused; what the capability throws.
  public func execute(_ input: Void) async throws -> C.Status {
    let scope = ProcedureContext.current?.scope
    scope?.lendSlot()
    let result: Result<C.Status, any Error>
    do {
      result = .success(try await AuthorizationRequests.authorize(capability, requirement))
    } catch {
      result = .failure(error)
    }
    await scope?.regainSlot()
    return try result.get()
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
