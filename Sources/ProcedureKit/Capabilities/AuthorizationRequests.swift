import Synchronization

/// Internal. The authorization requests of the process: at most one at a time for each capability type, in order of
/// arrival.
///
/// A request asks for a capability and a requirement. Callers with an equal request share one answer, including a
/// refusal. A caller with another request reads the status at its turn and asks only if the status is insufficient. An
/// error or a cancel is not an answer. Types without open requests use no memory.
enum AuthorizationRequests {
  private struct Open {
    let question: Question
    var isAnswered = false
  }

  /// The open requests, by capability type.
  private static let questions = Mutex<[ObjectIdentifier: [ObjectIdentifier: Open]]>([:])

  /// Authorizes `capability`, and asks if the status does not meet `requirement`. The caller holds no slot meanwhile.
  ///
  /// Cancelling the caller ends a wait for its turn at once, and cancels a request under way.
  ///
  /// - Returns: The status that meets the requirement.
  /// - Throws: ``CapabilityError``; the capability's errors; `CancellationError`;
  ///   ``ProcedureError/Kind/exclusionDeadlock`` if the request under way waits for a resource that an
  ///   enclosing body holds.
  static func authorize<C: Capability>(_ capability: C, _ requirement: C.Status.Requirement) async throws -> C.Status {
    guard await capability.isAvailable() else { throw CapabilityError.unavailable(capability: capability.name) }
    let question = Question(of: capability, requirement)
    open(question)
    defer { close(question) }
    let status = try await capability.authorizationStatus()
    if status.meets(requirement) { return status }
    return try await Prompts.takeTurn(Prompts.Kind(C.self), named: "authorize \(capability.name)") {
      try await ask(capability, requirement, question)
    }
  }

  private static func ask<C: Capability>(
    _ capability: C, _ requirement: C.Status.Requirement, _ question: Question
  ) async throws -> C.Status {
    var status = try await capability.authorizationStatus()
    if !status.meets(requirement), !isAnswered(question) {
      try await capability.requestAuthorization(requirement)
      status = try await capability.authorizationStatus()
      if ProcedureContext.current?.isCancelled ?? Task.isCancelled { throw CancellationError() }
      answered(question)
    }
    guard status.meets(requirement) else {
      throw CapabilityError.unauthorized(capability: capability.name, status: status)
    }
    return status
  }

  private static func open(_ question: Question) {
    questions.withLock { $0[question.type, default: [:]][ObjectIdentifier(question)] = Open(question: question) }
  }

  private static func close(_ question: Question) {
    questions.withLock { questions in
      questions[question.type]?[ObjectIdentifier(question)] = nil
      if questions[question.type]?.isEmpty ?? false { questions[question.type] = nil }
    }
  }

  /// Marks all equal requests as answered.
  ///
  /// - Complexity: O(n) for n open requests of the type.
  private static func answered(_ question: Question) {
    let others = questions.withLock { $0[question.type].map { $0.values.map(\.question) } ?? [] }
    let same = others.filter { $0.isSame(as: question) }
    questions.withLock { questions in
      for other in same { questions[question.type]?[ObjectIdentifier(other)]?.isAnswered = true }
    }
  }

  private static func isAnswered(_ question: Question) -> Bool {
    questions.withLock { $0[question.type]?[ObjectIdentifier(question)]?.isAnswered ?? false }
  }
}

extension AuthorizationRequests {
  /// A request: a capability and a requirement.
  fileprivate final class Question: Sendable {
    let type: ObjectIdentifier
    private let subject: any Sendable
    private let requirement: any Sendable

    init<C: Capability>(of capability: C, _ requirement: C.Status.Requirement) {
      type = ObjectIdentifier(C.self)
      subject = capability
      self.requirement = requirement
    }

    func isSame(as other: Question) -> Bool {
      areSame(subject, other.subject) && areSame(requirement, other.requirement)
    }
  }
}

/// Returns whether two values are known to be equal: equal `Equatable` values, one object, or values of an empty type.
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
