internal import ProcedureKit
internal import ProcedureKitFoundation

/// A client that sends a call and waits for the answer. If the connection is lost, the client keeps resending the call until the time limit
/// for restoring the connection expires.
struct RemoteClient<Input: Sendable, Output: Sendable>: Sendable {
  let executor: any ProcedureExecutor
  let signature: RemoteSignature<Input, Output>
  let coder: any ProcedureCoder

  /// The pauses before the attempts to restore the connection.
  private static var pauses: Schedule { .exponential(from: .milliseconds(100)).capped(at: longestPause) }
  private static var longestPause: Duration { .seconds(5) }

  /// Executes a call in a child of the current task. Cancelling the procedure or the task cancels the child.
  func execute(_ call: RemoteCall, in context: ProcedureContext) async throws -> Output {
    guard call.input.count <= executor.payloadLimit else {
      throw RemoteError.payloadTooLarge(call.procedure, "input", call.input.count, limit: executor.payloadLimit)
    }
    try context.requireNotCancelled()
    let (work, answer, timers) = (CancellableTask(), ResultBox<[UInt8]>(), context.run.core.timers)
    await ProcedureContext.withCancellationHandler {
      await work.execute(startsAtOnce: false) {
        do {
          answer.store(.success(try await send(call, timers)))
        } catch {
          answer.store(.failure(error))
        }
      }
    } onCancel: {
      work.cancel()
    }
    try context.requireNotCancelled()
    guard let result = answer.result else { throw CancellationError() }
    do {
      return try signature.decode(output: result.get(), with: coder)
    } catch let failure as RemoteFailure {
      // The worker may report that its own rate limiter or breaker refused the work, but the call has reached the worker.
      context.run.recordFailedCall()
      throw signature.error(failure, of: context.identity, with: coder)
    }
  }

  private func send(_ call: RemoteCall, _ timers: Timers) async throws -> [UInt8] {
    var pauses = Self.pauses.delays()
    var firstLoss: ProcedureInstant?
    let lastEnd = timers.now.advanced(by: call.limits.whole.saturated)
    while true {
      let start = timers.now
      do {
        return try await executor.execute(call)
      } catch let error as RemoteError where error.kind == .connectionLost {
        let now = timers.now
        // If this attempt lasted for a long time before it failed, the connection must have been restored, so the time limit starts again.
        // With a server that accepts connections but never answers, this happens at each attempt, but the time limit for the whole call
        // still applies.
        let long = max(Self.longestPause, call.limits.connectionTimeout / 2)
        if start.duration(to: now) > long { (firstLoss, pauses) = (nil, Self.pauses.delays()) }
        let end = min((firstLoss ?? now).advanced(by: call.limits.connectionTimeout.saturated), lastEnd)
        firstLoss = firstLoss ?? now
        guard now < end, let pause = pauses.next() else { throw error }
        try await timers.pause(for: min(pause, now.duration(to: end)))
      }
    }
  }
}

extension ProcedureContext {
  /// If the procedure was cancelled, throws the reason for the cancellation or, if there is none, a `CancellationError`.
  func requireNotCancelled() throws {
    if isCancelled { throw cancellationReason ?? CancellationError() }
  }
}
