import Synchronization

/// Internal. One evaluation of conditions that can be cancelled without the task that waits for it.
final class Judgement: Sendable {
  private let conditions: [Condition]
  private let desk = CrewDesk()
  private let result = Mutex(ConditionVerdict?.none)

  init(_ conditions: [Condition]) {
    self.conditions = conditions
  }

  /// Evaluates all conditions, once. Cancelling the caller cancels them, as ``cancel()`` does.
  func evaluate() async {
    desk.place(
      .add(priority: nil) { [self] in
        let verdict = await Condition.judge(conditions)
        result.withLock { $0 = verdict }
        desk.close()
      })
    await Spawner.runCrew(at: desk)
  }

  /// What they came to, once they have been evaluated.
  var verdict: ConditionVerdict {
    guard let verdict = result.withLock({ $0 }) else { preconditionFailure("Judgement: nothing was evaluated") }
    return verdict
  }

  /// Cancels the evaluation, which may still come to a verdict.
  func cancel() {
    desk.place(.cancelAll)
  }
}
