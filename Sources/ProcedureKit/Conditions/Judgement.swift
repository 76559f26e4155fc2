import Synchronization

/// Internal. One evaluation of conditions, with storage for the result: for an evaluation in another task, or in a
/// closure without a return value.
final class Judgement: Sendable {
  private let conditions: [Condition]
  private let stored = Mutex(ConditionVerdict?.none)

  init(of conditions: [Condition]) {
    self.conditions = conditions
  }

  /// Evaluates the conditions and stores the result. Cancelling the caller cancels the evaluation.
  func evaluate() async {
    let verdict = await Condition.judge(conditions)
    stored.withLock { $0 = verdict }
  }

  /// The result; `nil` if nothing was evaluated.
  var verdict: ConditionVerdict? { stored.withLock(\.self) }
}
