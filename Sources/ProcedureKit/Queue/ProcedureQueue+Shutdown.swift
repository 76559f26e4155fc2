extension ProcedureQueue {
  /// Refuses further procedures and returns when all procedures on the queue have finished.
  ///
  /// ```swift
  /// await queue.shutDown(grace: .seconds(10))
  /// ```
  ///
  /// Later calls to `run` and `add` fail with ``ProcedureError/Kind/queueShutDown``, except for calls from bodies that are still executing
  /// on the queue, because these calls belong to the bodies. The streams of ``events`` end after the last procedure has finished. A
  /// suspended queue is resumed.
  ///
  /// When the grace period ends, all remaining procedures are cancelled, as are procedures that bodies add later. The reason for the
  /// cancellation is ``ProcedureError/Kind/queueShutDown``, which contains the name of the cancelled procedure. The function still waits
  /// for bodies that are slow to respond to the cancellation. A body that is itself waiting for the shutdown of its queue is neither
  /// awaited nor cancelled. If there are several calls, the shortest grace period applies.
  ///
  /// Cancelling the caller shortens neither the wait nor the grace period. To shorten the wait, call ``cancelAll(_:)``.
  ///
  /// - Parameter grace: How long procedures may take to finish after the call, measured on the clock of the queue. With zero or less, they
  ///   are cancelled immediately; with `nil`, they are not cancelled.
  @concurrent public nonisolated func shutDown(grace: Duration? = nil) async {
    core.shutDown()
    guard let grace else { return await core.waitUntilIdle() }
    let callers = ProcedureContext.current?.run.nearestUnfinished.map { Array($0.ancestors) } ?? []
    let cancelRest: @Sendable () -> Void = { [core] in core.cancelForShutDown(sparing: callers) }
    guard grace > .zero else {
      cancelRest()
      return await core.waitUntilIdle()
    }
    let timer = core.timers.schedule(after: grace, cancelRest)
    await core.waitUntilIdle()
    core.timers.cancel(timer)
  }

  /// Cancels the procedures on the queue that are waiting to start, whether for dependencies, conditions, resources, a slot, or the queue
  /// to be resumed.
  ///
  /// Procedures that are pausing, either before the first attempt or between two attempts, are also cancelled.
  ///
  /// Executing bodies continue, as do their nodes, produced children, nested calls and elements of
  /// ``results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx``, even those that are waiting to start. A call to `run` from a
  /// body on another queue does not belong to a body on this queue, so it is cancelled if it is waiting to start. Callers that are waiting
  /// for room are not cancelled; they are admitted as cancelled procedures make room.
  ///
  /// - Parameter reason: The reason for the cancellation; `nil` for `CancellationError`.
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func cancelWaiting(_ reason: (any Error)? = nil) {
    core.cancelRuns { run, entry in
      let isNested = entry.isNested || (run.kind == .added && run.parent != nil)
      return isNested || !entry.phase.awaitsStart ? nil : RunDetails.Cancellation(reason: reason)
    }
  }
}

extension QueueCore {
  /// Cancels all procedures that a shutdown has to wait for. Nested runs, nodes and children are cancelled with their bodies.
  fileprivate func cancelForShutDown(sparing callers: [Run]) {
    cancelRuns(includesLater: true) { run, entry in
      if entry.isNested || entry.idleWaits > 0 || callers.contains(where: { $0 === run }) { return nil }
      return RunDetails.Cancellation(reason: ProcedureError.queueShutDown(procedure: run.identity, queue: name))
    }
  }
}
