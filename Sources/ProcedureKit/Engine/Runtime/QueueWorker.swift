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
      case .execute(let frame):
        let last = await worker.execute(frame, of: core, &fairness)
        assignment = core.finishBody(of: last, executedBy: worker, pauses: fairness.isDue)
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
      case .idle: assignment = core.linger(worker)
      case .end: break loop
      }
    }
    await core.retire(worker)
  }

  /// Executes the body of the run in a frame, and then those of its successors, each in its context.
  ///
  /// Invariant: the frame that is passed on uncounted is kept by the variable here until that call has returned.
  ///
  /// - Returns: The run whose body was executed last, which has to end the long way.
  private func execute(_ first: WorkerFrame, of core: QueueCore, _ fairness: inout Fairness) async -> DetachedRun {
    var frame = first
    while true {
      let next = await ProcedureContext(frame).run {
        await execute(in: Unmanaged.passUnretained(frame), of: core, &fairness)
      }
      guard let next else { return frame.run }
      frame = next
    }
  }

  /// The same, as long as one frame will do, which is bound. Never inlined: nobody who waits for this does anything meanwhile.
  ///
  /// - Returns: The frame with the run that is to be executed next; `nil` if the one in this frame has to end the long way.
  @inline(never)
  private func execute(
    in frame: Unmanaged<WorkerFrame>, of core: QueueCore, _ fairness: inout Fairness
  ) async -> WorkerFrame? {
    var lease = WorkerFrameLease(frame)
    while true {
      await lease.run.execute()
      guard !fairness.pieceEnds(), let (next, held, keepsNothing) = core.exchange(lease.run, for: self) else {
        return nil
      }
      var (run, hold) = (next, held)
      guard lease.exchange(&run, holding: &hold) else {
        let frame = WorkerFrame(run, holding: hold)
        // Whoever refers to the former frame keeps the former run with what it has held.
        Self.leave(lease.run, nil, keepsNothing: keepsNothing)
        return frame
      }
      Self.leave(consume run, consume hold, keepsNothing: keepsNothing)
    }
  }

  /// Tells those who wait for a run that has ended, and lets go of it and of what it has held: outside of its context, since that
  /// may end the lives of values of the user's, or call what is the user's.
  ///
  /// Invariant: each of the two references that are counted by hand is given back once, and as the last that this function has.
  ///
  /// - Parameters:
  ///   - run: The run, which has left its queue.
  ///   - hold: What the run has held, unless its frame keeps that, and the run with it.
  ///   - keepsNothing: Whether nothing of the user's goes with it.
  @inline(__always)
  private static func leave(
    _ run: consuming DetachedRun, _ hold: consuming ResourceHold?, keepsNothing: Bool
  ) {
    guard !keepsNothing else { return run.releaseBody() }
    let (lastRun, lastHold) = (Unmanaged.passRetained(run), hold.map { Unmanaged.passRetained($0.claim) })
    _ = (consume run, consume hold)
    ProcedureContext.$current.withValue(nil) {
      let run = lastRun.takeRetainedValue()
      run.releaseBody()
      run.notifyListeners()
      lastHold?.release()
    }
  }
}
