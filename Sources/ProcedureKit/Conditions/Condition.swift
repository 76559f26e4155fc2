/// A test that decides whether a procedure is executed.
///
/// A condition is a value that is evaluated again for each run, with one of three results. A satisfied condition lets
/// the run go on. A condition that is not satisfied makes the run *ignored*: the body is not executed, and the run does
/// not count as failed. A condition that throws fails the run before the body.
///
/// Conditions are evaluated after the dependencies have finished and before the run claims resources and a slot, never
/// while the queue is suspended. All conditions of one level are evaluated concurrently. The first failure decides at
/// once and cancels the other evaluations; without a failure, a condition that is not satisfied makes the run ignored.
///
/// A condition that ignores its cancellation does not delay a run that was added to a queue: the run ends, and the
/// evaluation goes on in its own task. `run` is structured and waits for the evaluation.
public struct Condition: Sendable {
  /// The name in errors, outcomes and logs.
  public let name: String
  private let evaluation: @Sendable (_ prepares: Bool) async -> ConditionEvaluation

  /// Makes a condition of an async predicate.
  ///
  /// - Parameters:
  ///   - name: The name in errors, outcomes and logs.
  ///   - prepare: Brings about the state that `evaluate` tests, before `evaluate` is called: asks for a permission,
  ///     connects. If `prepare` throws, the condition fails without being evaluated. ``silent(_:)`` omits this step.
  ///   - evaluate: Returns `true` for a satisfied condition and `false` to ignore the procedure. An error fails the
  ///     procedure.
  ///
  /// Both functions run in a task that is cancelled when the run is cancelled or another condition has failed. Neither
  /// holds a slot.
  public init(
    _ name: String, prepare: (@concurrent @Sendable () async throws -> Void)? = nil,
    evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) {
    self.init(name) { prepares in
      do {
        if prepares, let prepare { try await prepare() }
        return try await evaluate() ? .satisfied : .ignored(by: name)
      } catch {
        return .failed(condition: name, error: error)
      }
    }
  }

  init(_ name: String, evaluated: @escaping @Sendable (_ prepares: Bool) async -> ConditionEvaluation) {
    self.name = name
    evaluation = evaluated
  }

  /// Evaluates the condition once. Cancelling the caller cancels the evaluation, which still returns a result.
  ///
  /// - Parameter prepares: Whether the `prepare` step is performed.
  /// - Returns: The result of the evaluation.
  func evaluate(prepares: Bool = true) async -> ConditionEvaluation {
    await evaluation(prepares)
  }

  /// Evaluates all conditions of one level concurrently (K1).
  ///
  /// The first failure cancels the other evaluations, and `onFailure` is called at once. The function returns when all
  /// evaluations have returned. Cancelling the caller cancels all evaluations.
  static func evaluateAll(
    _ conditions: [Condition], prepares: Bool = true, onFailure: (ConditionEvaluation) -> Void = { _ in }
  ) async -> ConditionEvaluation {
    if conditions.count == 1 { return await conditions[0].evaluate(prepares: prepares) }
    let evaluations = await evaluateEach(conditions, prepares: prepares, until: \.isFailed, then: onFailure)
    return evaluations.first { !$0.isSatisfied } ?? .satisfied
  }

  /// Evaluates all conditions concurrently, until all have returned or one evaluation is conclusive.
  ///
  /// A conclusive evaluation cancels the others, and is then told to `conclude`, before the others are awaited. Cancelling the caller
  /// cancels all evaluations.
  ///
  /// - Returns: The conclusive evaluation alone, or, without one, all evaluations in the order of the conditions.
  static func evaluateEach(
    _ conditions: [Condition], prepares: Bool, until isConclusive: (ConditionEvaluation) -> Bool,
    then conclude: (ConditionEvaluation) -> Void = { _ in }
  ) async -> [ConditionEvaluation] {
    await withTaskGroup(of: (Int, ConditionEvaluation).self) { group in
      for (index, condition) in conditions.enumerated() {
        group.addTask { (index, await condition.evaluate(prepares: prepares)) }
      }
      var evaluations = [ConditionEvaluation](repeating: .satisfied, count: conditions.count)
      var conclusive: ConditionEvaluation?
      for await (index, evaluation) in group where conclusive == nil {
        evaluations[index] = evaluation
        if isConclusive(evaluation) {
          conclusive = evaluation
          group.cancelAll()
          conclude(evaluation)
        }
      }
      return conclusive.map { [$0] } ?? evaluations
    }
  }
}
