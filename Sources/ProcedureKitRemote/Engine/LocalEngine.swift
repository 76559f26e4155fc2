internal import ProcedureKit

/// An engine that runs within the process. It keeps calls in a queue. If a worker is lost, its calls are delivered again.
///
/// The engine follows the same rules as adapters for real engines, so workers and clients can be tested without a server:
///
/// ```swift
/// let engine = LocalEngine()
/// async let worker: Void = RemoteWorker(registry: registry, queue: queue).run(from: engine)
/// let picture = try await queue.run(ResizeImage().remote(on: engine, as: .resize, coder: coder), input: job)
/// engine.finish()
/// try await worker
/// ```
///
/// The engine stores each value under the key of its call and returns the stored value to later calls with the same key. All methods can be
/// called from any thread.
public final class LocalEngine: ProcedureExecutor, RemoteTaskSource {
  private struct State {
    var machine: LocalEngineMachine
    var callers: [Int: Caller] = [:]
    var lastCaller = 0
    /// The signals that idle workers are waiting for.
    var workers: [OneShotSignal] = []
    /// The timer for the current step of each call.
    var timers: [RemoteCall.Key: TimerHeap.ID] = [:]
    var isFinished = false
  }

  /// A caller that is waiting for an answer. If it receives several answers, only the first one is used.
  private struct Caller: Sendable {
    let signal = OneShotSignal()
    let answer = ResultBox<[UInt8]>()
    /// The timer that limits how long a cancelled caller waits for the execution to end.
    let patience = Locked<TimerHeap.ID?>(nil)
    let onProgress: @Sendable (RemoteProgress) -> Void

    func get(_ new: LocalEngineMachine.Answer) {
      answer.store(new)
      signal.signal()
    }
  }

  /// The state of a worker's request for a call.
  private enum Request {
    case delivered(LocalEngineMachine.Delivery)
    case waiting
    case finished
    case cancelled
  }

  /// The maximum size of an input or a value, in bytes.
  public let payloadLimit: Int

  private let state: Locked<State>
  let timers: Timers

  /// Creates an engine without calls or workers.
  ///
  /// - Parameters:
  ///   - payloadLimit: The maximum size of an input or a value, in bytes.
  ///   - memory: The maximum number of calls that the engine keeps, with their inputs and values, after they have ended.
  ///   - clock: The clock that measures the time limits of calls.
  public init(payloadLimit: Int = 2_000_000, memory: Int = 10_000, clock: any Clock<Duration> = ContinuousClock()) {
    self.payloadLimit = payloadLimit
    state = Locked(State(machine: LocalEngineMachine(memory: max(memory, 0))))
    timers = Timers(time: QueueClock(clock), executor: nil)
  }

  deinit { timers.close() }

  /// The number of callers that are waiting for an answer.
  public var callerCount: Int { state.withLock { $0.callers.count } }

  // MARK: Calling

  /// Gives a call to one of the workers, and waits for the answer; see ``ProcedureExecutor/execute(_:)``.
  ///
  /// Cancelling the caller cancels the call, unless another caller is waiting for the answer.
  ///
  /// - Parameter call: The call to execute.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` if the procedure throws an error; ``RemoteError`` if the call fails for another reason;
  ///   `CancellationError` if the caller is cancelled.
  public func execute(_ call: RemoteCall) async throws -> [UInt8] {
    let caller = Caller(onProgress: call.onProgress)
    let number = change { state, now in
      state.lastCaller += 1
      state.callers[state.lastCaller] = caller
      return (state.lastCaller, state.machine.called(call, by: state.lastCaller, at: now))
    }
    await withTaskCancellationHandler {
      await caller.signal.waitUntilResolved()
    } onCancel: {
      callerCancelled(number, caller, call)
    }
    state.withLock { state in
      state.callers[number] = nil
      state.machine.callerLeft(number, of: call.key)
    }
    if let patience = caller.patience.withLock({ $0.take() }) { timers.cancel(patience) }
    guard let answer = caller.answer.result else { throw CancellationError() }
    return try answer.get()
  }

  private func callerCancelled(_ number: Int, _ caller: Caller, _ call: RemoteCall) {
    change { state, now in ((), state.machine.callerCancelled(number, of: call.key, at: now)) }
    guard !caller.signal.isResolved else { return }
    // If the worker does not respond to the cancellation, the caller stops waiting after this time.
    let patience = timers.schedule(after: call.limits.heartbeatTimeout) { caller.get(.failure(CancellationError())) }
    caller.patience.withLock { $0 = patience }
  }

  // MARK: Working

  /// Waits for a call; see ``RemoteTaskSource/nextTask()``. Cancelling the caller ends the wait. A cancelled caller takes no call, so a
  /// call that arrives after the cancellation goes to another worker immediately.
  ///
  /// - Returns: The task; `nil` if ``finish()`` has been called and no call is waiting.
  /// - Throws: `CancellationError` if the caller is cancelled.
  public func nextTask() async throws -> (any RemoteTask)? {
    var wasWoken = false
    while true {
      let signal = OneShotSignal()
      let request = change { state, now -> (Request, LocalEngineMachine.Effects) in
        // This is checked while holding the lock, so a call that arrives after the cancellation is never taken.
        if Task.isCancelled {
          // The call that woke this worker may still be waiting, so another worker is woken.
          return (.cancelled, LocalEngineMachine.Effects(waitingCalls: wasWoken ? 1 : 0))
        }
        if let (delivery, effects) = state.machine.workerAsked(at: now) { return (.delivered(delivery), effects) }
        if state.isFinished { return (.finished, LocalEngineMachine.Effects()) }
        state.workers.append(signal)
        return (.waiting, LocalEngineMachine.Effects())
      }
      switch request {
      case .delivered(let delivery): return LocalTask(engine: self, content: delivery)
      case .finished: return nil
      case .cancelled: throw CancellationError()
      case .waiting: break
      }
      wasWoken = await signal.wait()
      if !wasWoken {
        state.withLock { $0.workers.removeAll { $0 === signal } }
        throw CancellationError()
      }
    }
  }

  /// Makes the workers stop once no calls are waiting. After this call, ``nextTask()`` returns `nil` instead of waiting for a call. Workers
  /// that are already waiting are woken.
  public func finish() {
    let workers = state.withLock { state in
      state.isFinished = true
      defer { state.workers = [] }
      return state.workers
    }
    for worker in workers { worker.signal() }
  }

  fileprivate func heartbeat(_ delivery: LocalEngineMachine.Delivery, _ progress: RemoteProgress?) throws -> Bool {
    let now = timers.now
    let (isCancelled, callers) = state.withLock { state in
      let isCancelled = state.machine.heartbeatArrived(delivery.token, at: now)
      return (isCancelled, state.machine.callers(of: delivery.token).compactMap { state.callers[$0] })
    }
    guard let isCancelled else { throw delivery.superseded }
    if let progress { for caller in callers { caller.onProgress(progress) } }
    return isCancelled
  }

  fileprivate func end(_ delivery: LocalEngineMachine.Delivery, _ outcome: RemoteOutcome) throws {
    let isAccepted = change { state, now in
      guard let effects = state.machine.ended(delivery.token, outcome, at: now) else {
        return (false, LocalEngineMachine.Effects())
      }
      return (true, effects)
    }
    guard isAccepted else { throw delivery.superseded }
  }

  // MARK: Effects

  /// Processes an event while holding the lock, and performs its effects after releasing the lock.
  @discardableResult
  private func change<R: Sendable>(
    _ event: (inout State, ProcedureInstant) -> (R, LocalEngineMachine.Effects)
  ) -> R {
    let now = timers.now
    let (result, answers, waitingCalls, timer, previousTimer) = state.withLock { state in
      let (result, effects) = event(&state, now)
      let answers = effects.answers.flatMap { answered in
        answered.callers.compactMap { state.callers[$0] }.map { (caller: $0, answer: answered.answer) }
      }
      let changedKey = effects.timer?.token.key ?? effects.closedKey
      let previousTimer = changedKey.flatMap { state.timers.removeValue(forKey: $0) }
      return (result, answers, effects.waitingCalls, effects.timer, previousTimer)
    }
    for answered in answers { answered.caller.get(answered.answer) }
    for _ in 0..<waitingCalls { wakeWorker() }
    if let previousTimer { timers.cancel(previousTimer) }
    if let timer { start(timer.token, at: timer.instant) }
    return result
  }

  /// Schedules a timeout check for the step that `token` identifies, unless the call has already moved past that step.
  private func start(_ token: LocalEngineMachine.Token, at instant: ProcedureInstant) {
    let timer = timers.schedule(at: instant) { [weak self] in
      self?.change { state, now in ((), state.machine.timerWentOff(token, at: now)) }
    }
    let isPresent = state.withLock { state in
      guard state.machine.isPresent(token) else { return false }
      state.timers[token.key] = timer
      return true
    }
    if !isPresent { timers.cancel(timer) }
  }

  /// Wakes one of the idle workers. Skips workers that are no longer waiting.
  private func wakeWorker() {
    while let worker = state.withLock({ $0.workers.isEmpty ? nil : $0.workers.removeFirst() }) {
      if worker.signal() { return }
    }
  }
}

extension LocalEngineMachine.Delivery {
  fileprivate var superseded: RemoteError {
    RemoteError(
      .superseded, procedure: call.procedure,
      reason:
        "delivery \(number) is no longer assigned to the worker, because the worker missed heartbeats, "
        + "exceeded the call's executionTimeout, or has already responded")
  }
}

/// One delivery of a call by a local engine.
private struct LocalTask: RemoteTask {
  let engine: LocalEngine
  let content: LocalEngineMachine.Delivery

  var call: RemoteCall { content.call }
  var delivery: Int { content.number }
  var payloadLimit: Int { engine.payloadLimit }

  func heartbeat(_ progress: RemoteProgress?) async throws -> Bool { try engine.heartbeat(content, progress) }
  func end(_ outcome: RemoteOutcome) async throws { try engine.end(content, outcome) }
}
