internal import ProcedureKit

/// A handler that executes the procedure for one delivery of a call, sends heartbeats, and reports the outcome.
struct RemoteDelivery: Sendable {
  private enum Order {
    case none
    case cancel
    /// The call now belongs to another worker.
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

  /// Executes the call and reports the outcome to the engine. Cancelling the calling task cancels the procedure. If the procedure then
  /// fails, the call is returned to the engine.
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
    // The task is detached because the outcome must be sent even if the worker was cancelled. The task is awaited here, and ends when the
    // outcome has been sent or no retries are left.
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
        guard try await task.heartbeat(execution.progress { progress.withLock(\.self) }) else { continue }
        order.withLock { $0 = .cancel }
        body.cancel()
      } catch let error as RemoteError where error.kind == .superseded {
        order.withLock { $0 = .forget }
        return body.cancel()
      } catch {
        // A heartbeat that could not be sent is not repeated, because the next one will be sent soon.
      }
    }
  }

  /// Sends the outcome. If sending fails, the function tries again until the time limit for lost connections is reached.
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
          return queue.core.log.log(
            level: .warning,
            "the outcome of \("\(task.call.procedure)".quoted) for \(task.call.key) was not accepted: \(error)")
        }
        try? await timers.pause(for: min(pause, now.duration(to: end)))
      }
    }
  }
}

/// The execution of a remote call. A body uses it to get information about the call, and to report progress.
public struct RemoteExecution: Sendable {
  private static let bound = TaskLocal<RemoteExecution?>(wrappedValue: nil)

  /// The execution to which the current task belongs; `nil` if the task does not belong to a remote call.
  public static var current: RemoteExecution? { bound.get() }

  /// The name and the version of the procedure.
  public let procedure: RemoteName
  /// The identity of the work. All executions of a call have the same key, so use the key to make effects idempotent.
  public let key: RemoteCall.Key
  /// The number of this delivery of the call, starting from 1. If the number is greater than 1, an earlier worker was lost or stopped, or
  /// took too long.
  public let delivery: Int
  private let onProgress: @Sendable (RemoteProgress) -> Void
  /// The node that represents the worker's run in the progress tree.
  private let part = Locked<ProgressNode?>(nil)

  init(_ call: RemoteCall, delivery: Int, onProgress: @escaping @Sendable (RemoteProgress) -> Void) {
    (procedure, key, self.delivery, self.onProgress) = (call.procedure, call.key, delivery, onProgress)
  }

  /// Reports the progress of the execution to the caller. The latest progress is sent with the next heartbeat.
  ///
  /// Progress that one of the worker's procedures reports through `ProcedureContext.progress` is also sent. If progress is reported in both
  /// ways, the greater fraction is sent. Unlike `ProcedureContext.progress`, this function can send a message. It also sets the progress of
  /// the procedure that calls it.
  ///
  /// - Parameter progress: The progress to report.
  public func report(_ progress: RemoteProgress) {
    // The message is stored before the fraction; see `progress(with:)`.
    onProgress(progress)
    if let fraction = progress.fraction { ProcedureContext.current?.progress.report(fraction) }
  }

  /// Starts using the progress of the worker's run as the progress of the execution.
  func follow(_ run: Run) {
    let progress = run.progressNode
    part.withLock { $0 = progress }
  }

  /// Combines the latest reported progress with the progress of the worker's run. Returns `nil` if there is no progress, or if the run has
  /// ended and its outcome is about to be sent.
  ///
  /// `latest` is read after the fraction of the run. `report` stores them in the opposite order, so no fraction is combined with an earlier
  /// message.
  func progress(with latest: () -> RemoteProgress?) -> RemoteProgress? {
    guard let part = part.withLock({ $0 }) else { return latest() }
    guard let fraction = part.fractionUnderWay else { return nil }
    let latest = latest()
    if fraction == 0 { return latest }
    return RemoteProgress(max(fraction, latest?.fraction ?? 0), latest?.message ?? "")
  }

  func bound<R: Sendable>(_ operation: @Sendable () async -> R) async -> R {
    await Self.bound.withValue(self, operation: operation)
  }
}
