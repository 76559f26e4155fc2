public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable {
  /// Returns a procedure that retries this one and uses a journal to count the attempts across processes.
  ///
  /// If the process is killed, the next run starts the next attempt immediately. Its retries use the remaining delays of the schedule.
  ///
  /// ```swift
  /// let upload = Upload().retry(.exponential(from: .seconds(1)), maxAttempts: 5, countedIn: journal, as: "upload")
  /// ```
  ///
  /// An attempt is counted when it starts, so the number of retries is limited even if the body crashes the process each time. A run that
  /// starts when earlier processes have used all attempts fails with ``RememberedFailure``. A cancelled attempt does not count. When the
  /// procedure succeeds or fails, the count is reset to 0. A new run skips the delays that earlier runs used, up to a million delays. Two
  /// concurrent runs with equal inputs share the count; to combine such runs into one, use `coalesced(by:in:)`. The modifier appends one
  /// entry to the journal for each attempt, and another one when the run ends. Otherwise, it behaves like
  /// `retry(_:maxAttempts:budget:when:)`.
  ///
  /// - Parameters:
  ///   - schedule: The delays before the retries. There are at most as many retries as delays. A delay that was in progress when the
  ///     process was killed is not repeated.
  ///   - maxAttempts: The maximum number of attempts, including the first one. Passing a value below 1 traps.
  ///   - journal: The journal that stores the count.
  ///   - key: The name of the procedure in the journal. Two procedures that share a journal need different names.
  ///   - decide: A closure that decides whether to retry. It receives the error and the number of the failed attempt.
  /// - Returns: The procedure with retries.
  public func retry(
    _ schedule: Schedule, maxAttempts: Int = .max, countedIn journal: any ProcedureJournal, as key: String,
    when decide:
      @escaping @concurrent @Sendable (_ error: any Error, _ attempt: Int) async -> RetryDecision<Input, Output> = {
        _, _ in .retry
      }
  ) -> ProcedureTask<Input, Output> {
    let place = JournalEntryLocation<Input>(journal, key, 1, false) { try $1.encode($0) }
    return procedureTask.retry(schedule, maxAttempts, place, decide)
  }
}

extension Procedure where Input == Void {
  /// Returns a procedure that retries this one and uses a journal to count the attempts. This overload is for procedures without an input;
  /// see `retry(_:maxAttempts:countedIn:as:when:)`.
  public func retry(
    _ schedule: Schedule, maxAttempts: Int = .max, countedIn journal: any ProcedureJournal, as key: String,
    when decide:
      @escaping @concurrent @Sendable (_ error: any Error, _ attempt: Int) async -> RetryDecision<Input, Output> = {
        _, _ in .retry
      }
  ) -> ProcedureTask<Input, Output> {
    let place = JournalEntryLocation<Input>(journal, key, 1, false) { _, _ in [] }
    return procedureTask.retry(schedule, maxAttempts, place, decide)
  }
}

extension ProcedureTask {
  fileprivate func retry(
    _ schedule: Schedule, _ maxAttempts: Int, _ place: JournalEntryLocation<Input>,
    _ decide: @escaping @concurrent @Sendable (any Error, Int) async -> RetryDecision<Input, Output>
  ) -> ProcedureTask {
    require(
      maxAttempts >= 1, "Procedure \"\(name)\": maxAttempts must be at least 1, got \(maxAttempts)")
    return wrapped { input in
      let number = JournalNumber(journal: place.journal, key: try place.key(of: input, for: "attempts").key)
      let used = Int(try await number.read(in: 0...Int64(Int32.max)))
      guard used < maxAttempts, schedule.hasDelays(used) else {
        try await number.write(0)
        throw RememberedFailure(
          path: place.path,
          description:
            "\(used.counting("attempt was", "attempts were")) used, and the process ended during the last one")
      }
      let counter = AttemptCounter(number: number, used: used)
      do {
        let attempts = counter.counting(self).retry(schedule.dropping(used), maxAttempts: maxAttempts - used) {
          error, attempt in
          let decision = await decide(error, used + attempt)
          guard case .replace(let other) = decision else { return decision }
          return .replace(by: counter.counting(other.procedureTask))
        }
        let output = try await attempts.executeAsLayer(input)
        try await number.write(0)
        return output
      } catch {
        let isCancelled = ProcedureContext.requireCurrent(for: name).isCancelled
        try await number.write(isCancelled ? counter.failedCount.withLock { Int64($0) } : 0)
        throw error
      }
    }
  }
}

/// A counter for the attempts of a run, including the attempts that earlier runs made.
private struct AttemptCounter: Sendable {
  let number: JournalNumber
  let used: Int
  /// The number of the last attempt that failed without being cancelled.
  let failedCount: Locked<Int>

  init(number: JournalNumber, used: Int) {
    (self.number, self.used, failedCount) = (number, used, Locked(used))
  }

  /// Returns a task that writes the number of each attempt to the journal before the attempt starts.
  func counting<Input, Output>(_ task: ProcedureTask<Input, Output>) -> ProcedureTask<Input, Output> {
    task.wrapped { input in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let attempt = min(used + context.attempt, Int(Int32.max))
      try await number.write(Int64(attempt))
      do {
        return try await task.executeAsLayer(input, attempt: attempt)
      } catch {
        if !context.isCancelled { failedCount.withLock { $0 = attempt } }
        throw error
      }
    }
  }
}

extension Schedule {
  /// The maximum number of delays that are skipped. The number is limited, because skipping delays takes time.
  private static let mostPassed = 1_000_000

  /// Returns whether the schedule has at least `count` delays. If it does, another attempt is allowed. At most a million delays are
  /// counted.
  fileprivate func hasDelays(_ count: Int) -> Bool {
    var delays = delays()
    for _ in 0..<min(count, Self.mostPassed) where delays.next() == nil { return false }
    return true
  }

  /// Returns the schedule without its first delays. At most a million delays are dropped.
  fileprivate func dropping(_ count: Int) -> Schedule {
    // Returning the schedule itself preserves its expression, which would otherwise be hidden behind a closure.
    guard count > 0 else { return self }
    return Schedule(from: (rest: ScheduleEvaluation(expression), left: min(count, Self.mostPassed))) {
      state, generator in
      while state.left > 0, state.rest.next(using: &generator) != nil { state.left -= 1 }
      return state.left > 0 ? nil : state.rest.next(using: &generator)
    }
  }
}
