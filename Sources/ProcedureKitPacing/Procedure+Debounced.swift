public import ProcedureKit

extension Procedure {
  /// Returns the procedure with a delay after which it executes only if it has not been requested again in the meantime.
  ///
  /// ```swift
  /// let search = Search().debounced(for: .milliseconds(300))
  /// let save = Save().debounced(for: .seconds(2)) { document in document.id }
  /// ```
  ///
  /// A run that waits is superseded by the next run with the same key. It ends immediately and is ignored, with the condition *debounced*;
  /// it does not count as failed. A run whose delay has passed is not affected by later ones. A waiting run holds neither a slot nor
  /// resources, as in a pause, and cancelling it ends the wait.
  ///
  /// All copies of the returned procedure share their keys, on all queues.
  ///
  /// - Parameters:
  ///   - duration: The delay.
  ///   - key: Returns the key of a run. Runs with different keys do not affect each other. Strings are compared byte by byte.
  /// - Returns: The procedure with the delay.
  public func debounced<Key: Hashable & Sendable>(
    for duration: Duration, by key: @escaping @Sendable (Input) -> Key
  ) -> ProcedureTask<Input, Output> {
    let (task, latest) = (procedureTask, LatestRuns())
    return task.wrapped { (input: Input) in
      let run = ProcedureContext.requireCurrent(for: task.name).run
      let (key, signal) = (InternedKey.of(key(input)), OneShotSignal())
      latest.arrived(run.id, signal, for: key)?.signal()
      do {
        try await run.withResourcesReleased { await run.pause(until: signal, atMost: duration) }
      } catch {
        latest.left(signal, for: key)
        throw error
      }
      guard latest.left(signal, for: key) else {
        throw ProcedureError.ignored(procedure: run.layerIdentity, by: "debounced")
      }
      return try await task.executeAsLayer(input)
    }
  }

  /// Returns the procedure with a delay after which it executes only if it has not been requested again in the meantime, with any input.
  ///
  /// See `debounced(for:by:)`.
  public func debounced(for duration: Duration) -> ProcedureTask<Input, Output> {
    debounced(for: duration) { _ in true }
  }
}

/// The latest waiting run for each key.
private final class LatestRuns: Sendable {
  private let waiting = Locked<[InternedKey: (run: ProcedureID, signal: OneShotSignal)]>([:])

  /// Records a run, and returns the signal of the run that is superseded. This is the run itself if a later one is already waiting, because
  /// workers can start added procedures in a different order.
  func arrived(_ run: ProcedureID, _ signal: OneShotSignal, for key: InternedKey) -> OneShotSignal? {
    waiting.withLock { waiting in
      if let other = waiting[key], run < other.run { return signal }
      return waiting.updateValue((run, signal), forKey: key)?.signal
    }
  }

  /// Removes a run that no longer waits. Returns whether it was still the latest one.
  @discardableResult
  func left(_ signal: OneShotSignal, for key: InternedKey) -> Bool {
    waiting.withLock { waiting in
      guard waiting[key]?.signal === signal else { return false }
      waiting[key] = nil
      return true
    }
  }
}
