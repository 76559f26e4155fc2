/// A task that executes the bodies of a queue, one after another.
///
/// The worker goes straight on with the next run. A worker whose body was cancelled takes no further one, so that a late cancel reaches
/// nobody else.
final class Worker: Sendable {
  private let task = CancellableWork()

  /// Cancels the task of the worker, while it lives.
  func cancel() { task.cancel() }

  /// Whether the current task is that of the worker, and none that a body has started.
  var isCurrent: Bool { task.isCurrent }

  static func work(for core: QueueCore) async {
    let worker = Worker()
    await worker.task.executeHere {
      var fairness = Fairness(core.time)
      var run = core.nextRun(for: worker, isStarting: true)
      while let current = run {
        run = await current.executeByWorker(worker)
        if fairness.pieceEnds() { await Task.yield() }
      }
    }
  }
}
