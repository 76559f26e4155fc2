/// A test that determines whether a procedure is executed.
///
/// A condition is evaluated separately for each run, with one of three results. If the condition is satisfied, the run continues. If it is
/// not satisfied, the run is *ignored*: the body is not executed, and the run does not count as failed. If the condition throws an error,
/// the run fails, and the body is not executed.
///
/// Conditions are evaluated after the dependencies finish, and before the run claims a slot and the resources of the same layer. While the
/// queue is suspended, no evaluation starts, except in the nested runs of executing bodies. Conditions from adjacent modifiers form one
/// layer and are evaluated concurrently. The first failure cancels the other evaluations, and the run fails. If no condition fails but at
/// least one is not satisfied, the run is ignored.
///
/// If a condition ignores cancellation, its evaluation continues in a separate task. An enclosing `||`, `&&` or `!` does not wait for the
/// evaluation to end. A run that was added to a queue does not wait either, and the same applies to its layers, nodes and children. By
/// contrast, `run` and direct calls to a procedure are structured: they wait for the evaluation to end, even if the result is already
/// certain.
public struct Condition: Sendable {
  /// The name of the condition in errors, outcomes and logs. The name of a combination consists of the names of the combined conditions,
  /// and has at most 1,000 characters.
  public let name: String
  /// A function that receives the decision. It is called exactly once and does not suspend.
  typealias Decision = @Sendable (ConditionEvaluation) -> Void
  /// A function that evaluates the condition once, and calls `decide` as soon as the result is certain. If `prepares` is `false`, the
  /// `prepare` step is skipped.
  ///
  /// The function returns when all tasks of the evaluation have ended. If an operand of `||` or `&&` ignores cancellation, `decide` can be
  /// called long before the function returns. Cancelling the caller cancels the evaluation, but `decide` is still called.
  let evaluation: @Sendable (_ prepares: Bool, _ decide: @escaping Decision) async -> Void

  /// Creates a condition from an async predicate.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors, outcomes and logs.
  ///   - prepare: A function that establishes the state that `evaluate` tests, for example by requesting permission or by connecting to a
  ///     server. It is called before `evaluate`. If `prepare` throws, the condition fails without being evaluated. ``silenced()`` omits
  ///     this step.
  ///   - evaluate: A function that returns `true` if the condition is satisfied, and `false` to ignore the procedure. If it throws, the
  ///     procedure fails.
  ///
  /// Both functions run in a task that is cancelled when the run is cancelled, when another condition makes the result certain, or when a
  /// child that a condition produced fails. The run holds no slot while they execute.
  public init(
    _ name: String, prepare: (@concurrent @Sendable () async throws -> Void)? = nil,
    evaluate: @escaping @concurrent @Sendable () async throws -> Bool
  ) {
    self.init(name) { prepares, decide in
      do {
        // The state is established before it is tested (K2).
        if prepares, let prepare { try await prepare() }
        decide(try await evaluate() ? .satisfied : .ignored(by: name))
      } catch {
        decide(.failed(condition: name, error: error))
      }
    }
  }

  init(_ name: String, evaluation: @escaping @Sendable (_ prepares: Bool, _ decide: @escaping Decision) async -> Void) {
    (self.name, self.evaluation) = (name, evaluation)
  }

  /// Evaluates all conditions of one layer concurrently (K1). The first failure determines the result and cancels the other evaluations.
  ///
  /// As in ``evaluation``, `decide` can be called long before the function returns.
  static func evaluateAll(_ conditions: [Condition], prepares: Bool = true, decide: @escaping Decision) async {
    if conditions.count == 1 { return await conditions[0].evaluation(prepares, decide) }
    await evaluateEach(conditions, prepares: prepares, until: \.isFailed) { evaluations in
      decide(evaluations.first { !$0.isSatisfied } ?? .satisfied)
    }
  }

  /// Evaluates all conditions concurrently until all of them have been evaluated or one evaluation is conclusive.
  ///
  /// If an evaluation is conclusive, all other evaluations are cancelled before `decide` is called. `decide` receives only the conclusive
  /// evaluation, or, if there is none, all evaluations in the order of the conditions. The function returns when all tasks of the
  /// evaluations have ended.
  static func evaluateEach(
    _ conditions: [Condition], prepares: Bool, until isConclusive: @escaping @Sendable (ConditionEvaluation) -> Bool,
    decide: @escaping @Sendable ([ConditionEvaluation]) -> Void
  ) async {
    guard !conditions.isEmpty else { return decide([]) }
    let tally = Locked(ConditionTally(count: conditions.count))
    // The group cannot cancel the evaluations, because the task that owns the group is waiting for child tasks that may ignore
    // cancellation.
    let works = conditions.map { _ in CancellableTask() }
    await withDiscardingTaskGroup { group in
      for (index, condition) in conditions.enumerated() {
        group.addTask {
          await works[index].executeHere {
            await condition.evaluation(prepares) { evaluation in
              let concludes = isConclusive(evaluation)
              let decision = tally.withLock { $0.evaluated(index, evaluation, concludes: concludes) }
              guard let decision else { return }
              if concludes { for other in works.indices where other != index { works[other].cancel() } }
              // The trampoline prevents a condition that is nested in thousands of others from overflowing the stack.
              Trampoline.call { decide(decision) }
            }
          }
        }
      }
    }
  }
}

/// The evaluations of several conditions, collected until there is a decision.
private struct ConditionTally {
  private var evaluations: [ConditionEvaluation?]
  private var missing: Int
  private var isDecided = false

  init(count: Int) { (evaluations, missing) = (Array(repeating: nil, count: count), count) }

  /// Records that a condition was evaluated.
  ///
  /// - Returns: The evaluations that the decision is based on; `nil` if there is no decision yet, or if the decision was made earlier.
  mutating func evaluated(_ index: Int, _ evaluation: ConditionEvaluation, concludes: Bool) -> [ConditionEvaluation]? {
    guard !isDecided else { return nil }
    precondition(evaluations[index] == nil, "\(#function): condition \(index) has already been evaluated")
    evaluations[index] = evaluation
    missing -= 1
    isDecided = concludes || missing == 0
    guard isDecided else { return nil }
    return concludes ? [evaluation] : evaluations.compactMap(\.self)
  }
}

/// The result of evaluating one condition, or all conditions of one layer.
enum ConditionEvaluation: Sendable {
  case satisfied
  /// The condition is not satisfied: the body is not executed, and the run does not fail.
  case ignored(by: String)
  /// The condition failed: the body is not executed, and the run fails.
  case failed(condition: String, error: any Error)

  var isSatisfied: Bool {
    if case .satisfied = self { true } else { false }
  }

  var isFailed: Bool {
    if case .failed = self { true } else { false }
  }
}
