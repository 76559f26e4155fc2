import Synchronization

/// A procedure that authorizes a capability: it reads the status and, if the status is insufficient, requests authorization and reads the
/// status again.
///
/// Within a process, requests for capabilities of the same type never overlap. Callers with equal capabilities and equal requirements share
/// the answer to the pending request, even if it is a refusal. Two capabilities or requirements are equal if they are `Equatable` values
/// that compare equal, the same object, or values of the same empty type. A caller holds no slot during a request.
public struct Authorize<C: Capability>: InputlessProcedure {
  private let capability: C
  private let requirement: C.Status.Requirement

  /// Creates a procedure that authorizes a capability.
  ///
  /// - Parameters:
  ///   - capability: The capability to authorize.
  ///   - requirement: The required authorization.
  public init(_ capability: C, _ requirement: C.Status.Requirement) {
    self.capability = capability
    self.requirement = requirement
  }

  /// The word "authorize", followed by the name of the capability.
  public var name: String { "authorize \(capability.name)" }

  /// Reads the status and, if the status is insufficient, requests authorization and reads the status again.
  ///
  /// If the caller is waiting for other requests, cancelling the caller ends the wait immediately.
  ///
  /// - Returns: A status that meets the requirement.
  /// - Throws: ``ProcedureError/Kind/capabilityUnavailable`` or ``ProcedureError/Kind/capabilityUnauthorized``, each with a
  ///   ``CapabilityError`` as the underlying error; ``ProcedureError/Kind/exclusionDeadlock`` if another request is waiting for a resource
  ///   that an enclosing body holds; any error that the capability throws; `CancellationError` or the reason for the cancellation if the
  ///   caller is cancelled.
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
    let kind: ProcedureError.Kind =
      switch self {
      case .unavailable: .capabilityUnavailable
      case .unauthorized: .capabilityUnauthorized
      }
    return ProcedureError(kind, procedure: procedure) { $0.underlying = self }
  }
}

extension Authorize where C.Status.Requirement == Void {
  /// Creates a procedure for a capability that has no requirements.
  public init(_ capability: C) {
    self.init(capability, ())
  }
}

/// A procedure that reads the authorization status of a capability without prompting the user.
public struct GetAuthorizationStatus<C: Capability>: InputlessProcedure {
  private let capability: C

  /// Creates a procedure that reads the authorization status of a capability.
  public init(_ capability: C) {
    self.capability = capability
  }

  /// The words "status of", followed by the name of the capability.
  public var name: String { "status of \(capability.name)" }

  /// Reads the status. Cancelling the caller cancels any pending calls to the capability's functions.
  ///
  /// - Returns: The status; `nil` if the capability is not available.
  /// - Throws: Any error that the capability throws.
  public func execute() async throws -> C.Status? {
    guard await capability.isAvailable() else { return nil }
    return try await capability.authorizationStatus()
  }
}

/// The authorization requests in the process. Requests for capabilities of the same type are made one at a time, in order of arrival.
///
/// A request consists of a capability and a requirement. Callers that make equal requests share one answer, even if it is a refusal. A
/// caller with a different request reads the status again when its turn comes, and requests authorization only if the status is still
/// insufficient. An error or a cancellation does not count as an answer.
enum AuthorizationRequests {
  /// The open requests, keyed by object identity.
  private static let openRequests = Mutex<[ObjectIdentifier: Question]>([:])

  /// Authorizes `capability`, requesting authorization only if the status does not meet `requirement`. The caller holds no slot during the
  /// call.
  ///
  /// If the caller is cancelled, its wait for a turn ends immediately. If its request is already pending, the request is cancelled instead.
  ///
  /// - Returns: The status that meets the requirement.
  /// - Throws: ``CapabilityError`` if the capability is unavailable or its status does not meet the requirement; any error that the
  ///   capability throws; `CancellationError` if the caller is cancelled; ``ProcedureError/Kind/exclusionDeadlock`` if the pending request
  ///   is waiting for a resource that an enclosing body holds.
  static func authorize<C: Capability>(_ capability: C, _ requirement: C.Status.Requirement) async throws -> C.Status {
    guard await capability.isAvailable() else { throw CapabilityError.unavailable(capability: capability.name) }
    let question = Question(of: capability, requirement)
    openRequests.withLock { $0[ObjectIdentifier(question)] = question }
    defer { _ = openRequests.withLock { $0.removeValue(forKey: ObjectIdentifier(question)) } }
    let status = try await capability.authorizationStatus()
    if status.meets(requirement) { return status }
    return try await Prompts.takeTurn(Prompts.Kind(type: TypeCategory(C.self)), named: "authorize \(capability.name)") {
      try await ask(capability, requirement, question)
    }
  }

  private static func ask<C: Capability>(
    _ capability: C, _ requirement: C.Status.Requirement, _ question: Question
  ) async throws -> C.Status {
    var status = try await capability.authorizationStatus()
    if !status.meets(requirement), !question.isAnswered {
      try await capability.requestAuthorization(requirement)
      status = try await capability.authorizationStatus()
      try ProcedureContext.checkCancellation()
      markAnswered(question)
    }
    guard status.meets(requirement) else {
      throw CapabilityError.unauthorized(capability: capability.name, status: status)
    }
    return status
  }

  /// Marks all requests that are equal to `question` as answered. The lock is not held while requests are compared.
  ///
  /// - Complexity: O(n) for n open requests.
  private static func markAnswered(_ question: Question) {
    for other in openRequests.withLock({ Array($0.values) }) where question.isSame(as: other) { other.setAnswered() }
  }

  /// A request, which consists of a capability and a requirement.
  private final class Question: Sendable {
    private let type: ObjectIdentifier
    private let subject: any Sendable
    private let requirement: any Sendable
    private let answered = Atomic(false)

    init<C: Capability>(of capability: C, _ requirement: C.Status.Requirement) {
      type = ObjectIdentifier(C.self)
      subject = capability
      self.requirement = requirement
    }

    /// Whether the user has answered this request or an equal one.
    var isAnswered: Bool { answered.load(ordering: .acquiring) }

    func setAnswered() { answered.store(true, ordering: .releasing) }

    func isSame(as other: Question) -> Bool {
      type == other.type && areSame(subject, other.subject) && areSame(requirement, other.requirement)
    }
  }
}

/// Returns whether two values are known to be equal.
///
/// Values are known to be equal if they are `Equatable` values that compare equal, the same object, or values of the same empty type.
private func areSame<T>(_ one: T, _ other: Any) -> Bool {
  guard let other = other as? T else { return false }
  if let one = one as? any Equatable { return one.equals(other) }
  if T.self is AnyObject.Type { return (one as AnyObject) === (other as AnyObject) }
  return MemoryLayout<T>.size == 0
}

extension Equatable {
  fileprivate func equals(_ other: Any) -> Bool {
    (other as? Self) == self
  }
}
