/// Stands behind a condition that is satisfied, or not, when the test says so.
///
/// ```swift
/// let online = ConditionProbe("online")
/// let handle = queue.add(procedure.condition(.probe(online)))
/// try await online.waitUntilEvaluated()
/// online.satisfy()
/// ```
///
/// Each evaluation waits for one word: `satisfy`, `ignore` or `fail`. Words are taken in the order in which they were
/// said. An evaluation that is cancelled while it waits throws `CancellationError` at once.
public final class ConditionProbe: Sendable {
  /// What errors and outcomes call the condition.
  public let name: String

  private let gate = Gate<Bool>()
  private let prepared = Milestones()
  private let evaluated = Milestones()

  /// A probe of that name.
  public init(_ name: String = "ConditionProbe") {
    self.name = name
  }

  /// Lets one evaluation find the condition satisfied: the one that has waited for longest, or the next to come.
  public func satisfy() {
    gate.say(.success(true))
  }

  /// Lets one evaluation find the condition not satisfied: the one that has waited for longest, or the next to come.
  public func ignore() {
    gate.say(.success(false))
  }

  /// Lets one evaluation throw `error`: the one that has waited for longest, or the next to come.
  public func fail(_ error: any Error) {
    gate.say(.failure(error))
  }

  /// Lets all evaluations find the condition satisfied: those that wait, and those to come that find no other word.
  public func satisfyAll() {
    gate.sayToAll(.success(true))
  }

  /// The number of times that the condition has been prepared.
  public var prepareCount: Int { prepared.count }

  /// The number of evaluations that have begun.
  public var evaluationCount: Int { evaluated.count }

  /// Waits until so many evaluations have begun. Cancelling the caller ends the wait.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  public func waitUntilEvaluated(_ count: Int = 1) async throws {
    try await evaluated.wait(for: count)
  }

  /// The condition, as often as it is wanted.
  var condition: Condition {
    Condition(name) {
      self.prepared.increment()
    } evaluate: {
      self.evaluated.increment()
      return try await self.gate.word(ignoringCancellation: false)
    }
  }
}

extension Condition {
  /// A condition that is satisfied, or not, when the test says so.
  public static func probe(_ probe: ConditionProbe) -> Condition {
    probe.condition
  }
}
