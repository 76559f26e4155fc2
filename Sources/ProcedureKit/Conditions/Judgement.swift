import Synchronization

/// Internal. The evaluation of some conditions, by another task or in a closure that returns nothing.
final class Judgement: Sendable {
  private let conditions: [Condition]
  private let stored = Mutex(ConditionVerdict?.none)

  init(of conditions: [Condition]) {
    self.conditions = conditions
  }

  /// Evaluates them. Cancelling the caller cancels the evaluation.
  func evaluate() async {
    let verdict = await Condition.judge(conditions)
    stored.withLock { $0 = verdict }
  }

  /// What it has come to, once they have been evaluated.
  var verdict: ConditionVerdict {
    guard let verdict = stored.withLock(\.self) else { preconditionFailure("Judgement: nothing was evaluated") }
    return verdict
  }
}
