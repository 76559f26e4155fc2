public import ProcedureKit

extension Procedure {
  /// Returns a procedure that waits for a delay, and executes only if it is not requested again during the delay.
  ///
  /// ```swift
  /// let search = Search().debounced(for: .milliseconds(300))
  /// let save = Save().debounced(for: .seconds(2)) { document in document.id }
  /// ```
  ///
  /// A waiting run is superseded by the next run with the same key. The superseded run stops waiting immediately. As soon as its body has a
  /// slot again, it is ignored, with the condition *debounced*. It does not count as failed. `run`, calls and handles throw a
  /// `ProcedureError` of kind `ignored`. A run whose delay has passed is not affected by later runs, so two executions can overlap.
  /// To prevent that, apply `exclusive(_:_:)`. A waiting run holds neither a slot nor resources, just as during a pause, and cancelling it
  /// ends the wait.
  ///
  /// A superseded run is not reinstated. If the run that superseded it is cancelled or times out while waiting, neither run executes.
  ///
  /// Runs are ordered by the time at which they were added or called, even if their bodies start in a different order. While a later run is
  /// waiting, a new attempt of an earlier run is ignored. A new execution of an earlier repetition is also ignored, and the repetition
  /// ends.
  ///
  /// All copies of the returned procedure share their keys, even across queues, so apply the modifier only once. If each request applies it
  /// again, no run supersedes another.
  ///
  /// - Parameters:
  ///   - duration: The delay.
  ///   - key: A closure that returns the key of a run. Runs with different keys do not affect each other. Strings are compared byte by
  ///     byte.
  /// - Returns: The procedure with the delay.
  public func debounced<Key: Hashable & Sendable>(
    for duration: Duration, by key: @escaping @Sendable (Input) -> Key
  ) -> ProcedureTask<Input, Output> {
    let (task, latest) = (procedureTask, LatestRuns())
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let run = context.run
      let (key, signal) = (InternedKey.of(key(input)), OneShotSignal())
      let superseded = latest.arrived(run.whole.id, signal, for: key)
      let ignored = ProcedureError.ignored(procedure: run.layerIdentity, by: "debounced")
      if superseded === signal { throw ignored }
      superseded?.signal()
      try await run.withSlotAndResourcesReleased {
        await run.pause(until: signal, atMost: duration)
        // The decision is made before the run reacquires its slot and its resources, so a later run no longer affects it.
        if !latest.left(signal, for: key), !context.isCancelled { throw ignored }
      }
      return try await task.executeAsLayer(input)
    }
  }

  /// Returns a procedure that waits for a delay, and executes only if it is not requested again during the delay, regardless of its input.
  ///
  /// See `debounced(for:by:)`.
  public func debounced(for duration: Duration) -> ProcedureTask<Input, Output> {
    debounced(for: duration) { _ in true }
  }
}

/// The latest waiting run for each key.
private final class LatestRuns: Sendable {
  private let waiting = Locked<[InternedKey: (run: ProcedureID, signal: OneShotSignal)]>([:])

  /// Records a run, and returns the signal of the superseded run, if there is one. Workers do not always start procedures in the order in
  /// which they were added. If a later run is already waiting, the given run itself is superseded.
  func arrived(_ run: ProcedureID, _ signal: OneShotSignal, for key: InternedKey) -> OneShotSignal? {
    waiting.withLock { waiting in
      if let other = waiting[key], run < other.run { return signal }
      return waiting.updateValue((run, signal), forKey: key)?.signal
    }
  }

  /// Removes a run that is no longer waiting. Returns whether it was still the latest run.
  func left(_ signal: OneShotSignal, for key: InternedKey) -> Bool {
    waiting.withLock { waiting in
      guard waiting[key]?.signal === signal else { return false }
      waiting[key] = nil
      return true
    }
  }
}
