/// Two copies of a procedure: the second starts where the first takes long, and the first success decides.
///
/// Each copy is a run with a slot of its own, for which it stands in line; the body that hedges has released its own.
struct Hedge<Input: Sendable, Output: Sendable>: Sendable {
  private let task: ProcedureTask<Input, Output>
  private let input: Input
  private let run: Run

  init(_ task: ProcedureTask<Input, Output>, _ input: Input, of run: Run) {
    self.task = task.resolved(for: input)
    self.input = input
    self.run = run
  }

  /// Executes the first copy, and after the delay the second. Returns when both have ended.
  ///
  /// - Throws: The error of the copy that ended last, if none has succeeded; `CancellationError` for a cancel.
  func execute(after delay: Duration) async throws -> Output {
    let start = Wakeup()
    let timer = run.core.timers.schedule(after: delay) { start.call() }
    let result = await run.withSlotReleased {
      let result = await firstSuccess(secondStartsAt: start)
      run.core.timers.cancel(timer)
      return result
    }
    guard let result else { throw CancellationError() }
    return try result.get()
  }

  /// Returns the first success, or the last failure; `nil` if no copy has executed.
  private func firstSuccess(secondStartsAt start: Wakeup) async -> Result<Output, any Error>? {
    await withTaskGroup(of: Result<Output, any Error>?.self) { group in
      group.addTask { await executeCopy() }
      group.addTask {
        // Not called: the first copy has decided.
        guard await run.wait(at: start) else { return nil }
        return await executeCopy()
      }
      var result: Result<Output, any Error>?
      for await ended in group {
        guard let ended else { continue }
        if case .success? = result { continue }
        result = ended
        if ended.isSuccess {
          group.cancelAll()
          // In what a cancelled body calls, a copy ignores its task, which was cancelled from the beginning.
          run.cancelParts(.copy)
        }
        start.leave()
      }
      return result
    }
  }

  private func executeCopy() async -> Result<Output, any Error> {
    let copy = Run(
      run.core, task.level, .copy, parent: run, attempt: Int(run.attempt), closures: task.closures,
      body: task.body(with: input))
    do {
      return .success(try await copy.driveToEnd(admitted: nil))
    } catch {
      return .failure(error)
    }
  }
}

extension Result {
  var isSuccess: Bool {
    if case .success = self { true } else { false }
  }
}
