import Synchronization

/// Internal. Lets one request at a time be under way for the capabilities of one type, first come first served.
///
/// A request is a question: of which capability, and what is needed. Who has the same question while it is being answered
/// gets that answer, also if it is a refusal; who needs something else looks at the status when its turn comes, and asks
/// only if that is not enough. An error is no answer, and neither is a cancel. Types without a question use no memory.
enum AuthorizationRequests {
  /// For each type, the questions that have not been closed.
  private static let questions = Mutex<[ObjectIdentifier: [ObjectIdentifier: Question]]>([:])

  /// Makes sure that a capability is authorized, and asks if it is not. No slot is held meanwhile.
  ///
  /// Cancelling the caller ends a wait for its turn at once, and is passed on to the request.
  ///
  /// - Returns: The status that meets the requirement.
  /// - Throws: ``CapabilityError``; what the capability throws; `CancellationError`;
  ///   ``ProcedureError/exclusionDeadlock(procedure:circle:)`` where the request under way waits for what a body around
  ///   this one holds.
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
    if !status.meets(requirement), !question.isAnswered {
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
    questions.withLock { $0[question.type, default: [:]][ObjectIdentifier(question)] = question }
  }

  private static func close(_ question: Question) {
    questions.withLock { questions in
      questions[question.type]?[ObjectIdentifier(question)] = nil
      if questions[question.type]?.isEmpty ?? false { questions[question.type] = nil }
    }
  }

  /// The same question of others has its answer as well.
  ///
  /// - Complexity: O(n) for n open questions of the type.
  private static func answered(_ question: Question) {
    let others = questions.withLock { $0[question.type].map { Array($0.values) } ?? [] }
    for other in others where other.isSame(as: question) { other.isAnswered = true }
  }
}

extension AuthorizationRequests {
  /// What somebody wants to know.
  fileprivate final class Question: Sendable {
    let type: ObjectIdentifier
    private let subject: any Sendable
    private let requirement: any Sendable
    private let answer = Atomic(false)

    init<C: Capability>(of capability: C, _ requirement: C.Status.Requirement) {
      type = ObjectIdentifier(C.self)
      subject = capability
      self.requirement = requirement
    }

    var isAnswered: Bool {
      get { answer.load(ordering: .acquiring) }
      set { answer.store(newValue, ordering: .releasing) }
    }

    func isSame(as other: Question) -> Bool {
      areSame(subject, other.subject) && areSame(requirement, other.requirement)
    }
  }
}

/// Whether two values are known to be the same: equal where that can be told, one object, or without anything inside.
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
