import Synchronization

/// Internal. Two copies of one part of a body, of which the first success counts.
final class Hedge<Output: Sendable>: Sendable {
  private struct State {
    /// The copies that have started and not ended, by their numbers.
    var executing: [Int: PartScope] = [:]
    /// What counts: a success, or the latest failure.
    var result: Result<Output, any Error>?
    /// Whether no copy is started any more.
    var isDecided = false
  }

  private let context: ProcedureContext
  private let operation: @concurrent @Sendable () async throws -> Output
  private let desk = CrewDesk()
  private let state = Mutex(State())

  init(in context: ProcedureContext, _ operation: @escaping @concurrent @Sendable () async throws -> Output) {
    self.context = context
    self.operation = operation
  }

  /// Executes the first copy, and the second one when the delay has passed. Returns when both have ended.
  ///
  /// - Throws: The latest error, if there is no success; `CancellationError` where the caller was cancelled before anything
  ///   could start.
  func execute(after delay: Duration) async throws -> Output {
    start(0)
    let timer = context.scope.timers.schedule(after: delay) { self.start(1) }
    await withRunCancellationHandler(in: context, key: self) {
      await Spawner.runCrew(at: desk)
    } onCancel: {
      self.cancel()
    }
    context.scope.timers.cancel(timer)
    // The copy that lost may have been stopped while it waited for the slot that both share.
    await context.scope.waitForSlot(in: context)
    guard let result = state.withLock({ $0.result }) else { throw CancellationError() }
    return try result.get()
  }

  private func start(_ copy: Int) {
    let part = PartScope(of: context, isAlone: false)
    let isNeeded = state.withLock { state in
      if !state.isDecided { state.executing[copy] = part }
      return !state.isDecided
    }
    guard isNeeded else { return }
    desk.place(
      .add(priority: nil) { [self] in
        let context = ProcedureContext(part, of: context, attempt: context.attempt, keepsHold: true)
        ended(copy, await context.settled(operation))
      })
  }

  private func ended(_ copy: Int, _ result: Result<Output, any Error>) {
    let (others, isLast) = state.withLock { state in
      state.executing[copy] = nil
      var isWinner = false
      if case .success? = state.result {
      } else {
        state.result = result
        if case .success = result { isWinner = true }
      }
      if isWinner || state.executing.isEmpty { state.isDecided = true }
      return (isWinner ? Array(state.executing.values) : [], state.executing.isEmpty)
    }
    if !isLast, others.isEmpty { context.scope.copyEnded() }
    for other in others { other.stop(nil) }
    if !others.isEmpty { desk.place(.cancelAll) }
    if isLast { desk.close() }
  }

  /// Starts no more, and cancels what has started.
  private func cancel() {
    let parts = state.withLock { state in
      state.isDecided = true
      return state.executing.values
    }
    for part in parts { part.children?.cancel(context.cancellationReason) }
    desk.place(.cancelAll)
  }
}
