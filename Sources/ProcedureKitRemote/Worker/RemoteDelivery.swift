internal import ProcedureKit

/// Internal. One delivery of a call: the execution, its heartbeats, and the answer.
struct RemoteDelivery: Sendable {
  private enum Order {
    case none
    case cancel
    /// The call belongs to another worker.
    case forget
  }

  let task: any RemoteTask
  let queue: ProcedureQueue
  let pauses: Schedule
  private let order = Locked(Order.none)
  private let progress: Locked<RemoteProgress?>
  private let execution: RemoteExecution

  init(task: any RemoteTask, queue: ProcedureQueue, pauses: Schedule) {
    (self.task, self.queue, self.pauses) = (task, queue, pauses)
    let progress = Locked<RemoteProgress?>(nil)
    self.progress = progress
    execution = RemoteExecution(task.call, delivery: task.delivery) { new in progress.withLock { $0 = new } }
  }

  /// Executes the call, and tells the engine the outcome. Cancelling the caller cancels the procedure, and gives the call back.
  func execute(with registry: ProcedureRegistry) async {
    let body = CancellableTask()
    let outcome = await withTaskGroup(of: RemoteOutcome?.self) { group in
      group.addTask {
        await sendHeartbeats(cancelling: body)
        return nil
      }
      group.addTask { await execute(body, with: registry) }
      for await outcome in group where outcome != nil {
        group.cancelAll()
        return outcome
      }
      return nil
    }
    guard let outcome, !isForgotten else { return }
    // Detached, since the answer of a worker that is cancelled has to be sent, too. The task is awaited, and ends with the pauses at the latest.
    await Spawner.startDetached { await answer(outcome) }.value
  }

  private var isForgotten: Bool { order.withLock { if case .forget = $0 { true } else { false } } }

  private func execute(_ body: CancellableTask, with registry: ProcedureRegistry) async -> RemoteOutcome {
    let outcome = Locked(RemoteOutcome.abandoned)
    await body.executeHere {
      let result = await execution.bound {
        await registry.execute(task.call, on: queue, payloadLimit: task.payloadLimit)
      }
      let isCancelled = Task.isCancelled
      let isOrdered = order.withLock { if case .cancel = $0 { true } else { false } }
      outcome.withLock {
        switch result {
        case .success(let output): $0 = .finished(output)
        case .failure where isCancelled: $0 = isOrdered ? .cancelled : .abandoned
        case .failure(let failure): $0 = .failed(failure)
        }
      }
    }
    return outcome.withLock { $0 }
  }

  /// Sends heartbeats until the task is cancelled or the call belongs to another worker.
  private func sendHeartbeats(cancelling body: CancellableTask) async {
    let interval = max(task.call.limits.heartbeatTimeout / 3, .milliseconds(1))
    while (try? await queue.core.timers.pause(for: interval)) != nil {
      do {
        guard try await task.heartbeat(execution.progress(with: progress.withLock { $0 })) else { continue }
        order.withLock { $0 = .cancel }
        body.cancel()
      } catch let error as RemoteError where error.kind == .superseded {
        order.withLock { $0 = .forget }
        return body.cancel()
      } catch {
        // A heartbeat that was lost is followed by the next one.
      }
    }
  }

  /// Sends the outcome, again after an error, as long as the connection may be lost.
  private func answer(_ outcome: RemoteOutcome) async {
    let timers = queue.core.timers
    let end = timers.now.advanced(by: task.call.limits.connectionTimeout.saturated)
    var pauses = self.pauses.delays()
    while true {
      do {
        return try await task.end(outcome)
      } catch {
        let now = timers.now
        let isRefused = [.superseded, .refused].contains((error as? RemoteError)?.kind)
        guard !isRefused, now < end, let pause = pauses.next() else {
          return queue.core.log.warning(
            "the outcome of \("\(task.call.procedure)".quoted) for \(task.call.key) was not accepted: \(error)")
        }
        try? await timers.pause(for: min(pause, now.duration(to: end)))
      }
    }
  }
}

/// The view of a worker's body on the call that it executes.
public struct RemoteExecution: Sendable {
  private static let bound = TaskLocal<RemoteExecution?>(wrappedValue: nil)

  /// The call that executes in the current task; `nil` in a body that no other process has called.
  public static var current: RemoteExecution? { bound.get() }

  /// The procedure.
  public let procedure: RemoteName
  /// The identity of the work: the same for each execution of a call, so that effects can be made idempotent with it.
  public let key: RemoteCall.Key
  /// Which execution of the call this is, from 1. A worker before the present one was lost if the number is greater.
  public let delivery: Int
  private let onProgress: @Sendable (RemoteProgress) -> Void
  /// The part of the worker's run in the tree of progress.
  private let part = Locked<ProgressNode?>(nil)

  init(_ call: RemoteCall, delivery: Int, onProgress: @escaping @Sendable (RemoteProgress) -> Void) {
    (procedure, key, self.delivery, self.onProgress) = (call.procedure, call.key, delivery, onProgress)
  }

  /// Tells the caller how far the execution is. The newest progress travels with the next heartbeat.
  ///
  /// What a procedure of the worker reports by `ProcedureContext.progress` travels, too. Of both fractions, the greater one counts; this
  /// function adds a message, and is also a report of the procedure that calls it.
  ///
  /// - Parameter progress: The progress.
  public func report(_ progress: RemoteProgress) {
    if let fraction = progress.fraction { ProcedureContext.current?.progress.report(fraction) }
    onProgress(progress)
  }

  /// The progress of the worker's run is that of the execution from now on.
  func follow(_ run: Run) {
    let progress = run.progressPart
    part.withLock { $0 = progress }
  }

  /// Returns a progress together with that of the worker's run; `nil` if there is none, and if the run has ended, since its outcome follows.
  func progress(with latest: RemoteProgress?) -> RemoteProgress? {
    guard let part = part.withLock({ $0 }) else { return latest }
    guard let fraction = part.fractionUnderWay else { return nil }
    if fraction == 0 { return latest }
    return RemoteProgress(max(fraction, latest?.fraction ?? 0), latest?.message ?? "")
  }

  func bound<R: Sendable>(_ operation: @Sendable () async -> R) async -> R {
    await Self.bound.withValue(self, operation: operation)
  }
}
