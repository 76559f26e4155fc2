/// Internal. A task that executes one procedure after another for a queue, until nothing is ready or one was cancelled.
///
/// Cancelling a body means to cancel the worker's task. That cannot be undone, so such a worker ends with that body and
/// another takes its place: only a cancellation pays for a task.
///
/// Invariant: `pins`, `isSpent` and `waiter` are guarded by the lock of the queue. `task` is used only while the worker's
/// task is alive: whoever cancels pins the worker under that lock, at a moment at which it executes the run concerned,
/// calls `cancel()` outside of the lock, because that runs handlers of the user's, and unpins; a worker that is pinned
/// does not end.
final class QueueWorker: @unchecked Sendable {
  let task: UnsafeCurrentTask
  var pins = 0
  /// Whether its task has been cancelled.
  var isSpent = false
  var waiter: Waiter?

  private init(task: UnsafeCurrentTask) {
    self.task = task
  }

  /// What a worker's task does, from its start to its end.
  static func work(for core: QueueCore) async {
    guard let task = withUnsafeCurrentTask(body: { $0 }) else {
      preconditionFailure("QueueWorker: there is no current task")
    }
    let worker = QueueWorker(task: task)
    var fairness = Fairness(core.time)
    var assignment = core.startWorker(worker)
    loop: while true {
      switch assignment {
      case .execute(var run, var hold):
        while true {
          await run.execute(holding: hold)
          guard !fairness.pieceEnds(), let next = core.exchange(run, holding: &hold, for: worker) else { break }
          run = next
        }
        assignment = core.finishBody(of: run, executedBy: worker, pauses: fairness.isDue)
      case .pause:
        await Task.yield()
        assignment = core.continueWorker(worker)
      case .evaluate(let run, let conditions, let bindings):
        let verdict = await DetachedRun.judge(conditions, bindings)
        assignment = core.settleConditions(of: run, verdict, judgedBy: worker)
      case .conclude(let run):
        await run.callWillFinishHooks()
        core.publish(run)
        await run.callDidFinishHooks()
        assignment = core.finishEnding(of: run, by: worker)
      case .linger:
        core.lingerForWork()
        assignment = core.startWorker(worker)
      case .end: break loop
      }
    }
    await core.retire(worker)
  }
}
