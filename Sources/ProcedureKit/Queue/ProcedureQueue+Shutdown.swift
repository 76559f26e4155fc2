extension ProcedureQueue {
  /// Refuses further procedures, waits until all procedures on the queue have finished, and returns the procedures that it cancelled.
  ///
  /// ```swift
  /// let report = await queue.shutDown(grace: .seconds(10))
  /// save(jobs: report.notStarted.map(\.procedure.id))
  /// ```
  ///
  /// Later calls to `run` and `add` fail with ``ProcedureError/Kind/queueShutDown``. Calls from bodies that are still executing on the
  /// queue are exempt, because they belong to these bodies. The streams of ``events`` end after the last procedure finishes. A suspended
  /// queue is resumed.
  ///
  /// When the grace period ends, all remaining procedures are cancelled, as are procedures that bodies add later. The reason for the
  /// cancellation is ``ProcedureError/Kind/queueShutDown``, which contains the name of the cancelled procedure. The function still waits
  /// for bodies that are slow to respond to the cancellation. It also waits for the operations of ``Procedure/cleanup(atMost:_:)`` and
  /// ``ProcedureContext/shielded(atMost:_:)``, each of which can take as long as its own limit allows. A body that is itself waiting for
  /// the shutdown of its queue is neither awaited nor cancelled. If there are several calls, the shortest grace period applies, and each
  /// call reports all procedures that were cancelled because of the shutdown.
  ///
  /// Cancelling the caller shortens neither the wait nor the grace period. To shorten the wait, call ``cancelAll(_:)``.
  ///
  /// - Parameter grace: The time that procedures are given to finish after the call, measured on the queue's clock. If the value is zero or
  ///   less, they are cancelled immediately. If it is `nil`, they are not cancelled.
  /// - Returns: The procedures that were cancelled because the grace period ended. The report is empty if all procedures finished in time.
  @discardableResult @concurrent
  public nonisolated func shutDown(grace: Duration? = nil) async -> CancellationReport {
    core.shutDown()
    if let grace { await waitUntilIdle(cancellingRestAfter: grace) } else { await core.waitUntilIdle() }
    return CancellationReport(core.read { $0.cancelledByShutdown } ?? [])
  }

  /// Waits until the queue is idle, and cancels the remaining procedures when the grace period ends (Q4).
  @concurrent private nonisolated func waitUntilIdle(cancellingRestAfter grace: Duration) async {
    let callers = ProcedureContext.current?.run.nearestUnfinished.map { Array($0.ancestors) } ?? []
    let cancelRest: @Sendable () -> Void = { [core] in
      var inCallersTasks: [ProcedureIdentity] = []
      // Nested runs and nodes are cancelled with their bodies.
      core.cancelRuns(includesLater: true, isForShutdown: true) { run, entry in
        if entry.isNested || entry.idleWaits > 0 || run.cancellationScope.isShielded { return nil }
        if callers.contains(where: { $0 === run }) { return nil }
        let isInCallersTask = entry.phase == .executing && run.kind == .structured && !run.needsChildTask
        if isInCallersTask { inCallersTasks.append(run.identity) }
        return RunDetails.Cancellation(
          reason: ProcedureError.queueShutDown(procedure: run.identity, queue: core.name, wasAdmitted: true))
      }
      core.warnOfBodiesInCallersTasks(inCallersTasks)
    }
    guard grace > .zero else {
      cancelRest()
      return await core.waitUntilIdle()
    }
    let timer = core.timers.schedule(after: grace, cancelRest)
    await core.waitUntilIdle()
    core.timers.cancel(timer)
  }

  /// Cancels the procedures on the queue that are waiting to start. They can be waiting for dependencies, conditions, resources or a slot,
  /// or for the queue to be resumed.
  ///
  /// Procedures that are pausing, either before the first attempt or between two attempts, are also cancelled.
  ///
  /// Executing bodies continue, as do their nodes, children, nested calls and elements of
  /// ``results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx``, even those that are waiting to start. If a body on another
  /// queue called a procedure on this queue with `run`, that procedure is cancelled if it is waiting to start. Callers that are waiting for
  /// room are not cancelled; they are admitted as cancelled procedures make room.
  ///
  /// - Parameter reason: The reason for the cancellation; `nil` to use `CancellationError`.
  /// - Returns: The procedures that this call cancelled. A procedure that was pausing between two attempts is listed as interrupted.
  /// - Complexity: O(n log n) for n procedures on the queue.
  @discardableResult
  public nonisolated func cancelWaiting(_ reason: (any Error)? = nil) -> CancellationReport {
    CancellationReport(
      core.cancelRuns { run, entry in
        let isNested = entry.isNested || (run.kind == .added && run.parent != nil)
        return isNested || !entry.phase.awaitsStart ? nil : RunDetails.Cancellation(reason: reason)
      })
  }

  /// The procedures that a call to ``ProcedureQueue/shutDown(grace:)`` or ``ProcedureQueue/cancelWaiting(_:)`` cancelled.
  ///
  /// A procedure whose outcome is `cancelled` because of the call is in exactly one of the two lists. Procedures that finish, fail, or are
  /// cancelled for another reason are not listed. The nodes, children and nested runs of a body are not listed separately, nor are the
  /// elements of a sequence that it reads.
  public struct CancellationReport: Sendable, Hashable, CustomStringConvertible {
    /// A cancelled procedure.
    public struct Entry: Sendable, Hashable {
      /// The ID and the name of the run. The ID equals ``ProcedureHandle/id``.
      public let procedure: ProcedureIdentity
      /// The description of the run's key, or of the enclosing run's key; see ``Procedure/keyed(by:weight:)``.
      public let key: String?

      /// Creates an entry, for tests of code that receives a report.
      ///
      /// - Parameters:
      ///   - procedure: The ID and the name of the run.
      ///   - key: The description of the key.
      public init(procedure: ProcedureIdentity, key: String? = nil) {
        (self.procedure, self.key) = (procedure, key)
      }
    }

    /// The procedures whose bodies were not called, in order of admission.
    ///
    /// They can be executed later, or by another process, without being executed twice.
    public let notStarted: [Entry]
    /// The procedures that had started, in order of admission.
    ///
    /// These include procedures that were pausing between two attempts or waiting inside a modifier, for example for a ``RateLimiter`` or,
    /// as in `exclusive("a").timeout(…)`, for a resource. Such a procedure may have been executed in part or, if its body ignored the
    /// cancellation, completely.
    public let interrupted: [Entry]

    /// Creates a report, for tests of code that receives a report.
    ///
    /// - Parameters:
    ///   - notStarted: The procedures whose bodies were not called.
    ///   - interrupted: The procedures that had started.
    public init(notStarted: [Entry] = [], interrupted: [Entry] = []) {
      (self.notStarted, self.interrupted) = (notStarted, interrupted)
    }

    /// Creates the report. The caller must not hold the lock, because describing a key can call the user's code.
    init(_ runs: [QueueCore.CancelledRun]) {
      func entries(haveStarted: Bool) -> [Entry] {
        runs.filter { $0.hasStarted == haveStarted }.map { run in
          Entry(procedure: run.procedure, key: run.key.map { "\($0.value)" })
        }
      }
      self.init(notStarted: entries(haveStarted: false), interrupted: entries(haveStarted: true))
    }

    /// Whether no procedure was cancelled.
    public var isEmpty: Bool { notStarted.isEmpty && interrupted.isEmpty }

    /// The report as it appears in logs: `3 procedures not started, 1 procedure interrupted`.
    public var description: String {
      "\(notStarted.count.counting("procedure")) not started, \(interrupted.count.counting("procedure")) interrupted"
    }
  }
}
