extension QueueCore {
  // MARK: Structured runs

  /// Admits and drives a run that `startStructured` did not start, and returns its value.
  @usableFromInline @concurrent
  func runStructured<Input: Sendable, Output: Sendable>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    update { ($0[run].body, $0[run].closures) = (task.body(with: input), task.closures) }
    return try await run.driveToEnd(from: run.admit())
  }

  /// Ends a run that `startStructured` started and `finishInline` could not end, for example because the run failed, was cancelled, or has
  /// children.
  @usableFromInline @concurrent
  func finish<Output: Sendable>(_ run: Run, _ result: Result<Output, any Error>) async throws -> Output {
    run.recordBodyEnd(result.map { $0 })
    await run.finish()
    return try ProcedureHandle(run).finishedValue()
  }

  // MARK: Added runs

  /// Adds a run to the queue and returns it. If the queue refuses the run, the returned run has already failed.
  ///
  /// - Complexity: O(1) for a run that has only a body and no dependencies, unless the queue uses keys.
  @usableFromInline
  func add(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    hasRoom: Bool = false,
    body: consuming @escaping Run.Body
  ) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    if let refusal = admit(run, after: dependencies, room: hasRoom ? .reserved : .byOverflow) {
      run.refuse(refusal.error(of: run))
    }
    return run
  }

  /// Adds a run if the queue currently has room; otherwise, returns `nil`.
  ///
  /// - Complexity: O(1) for a run that has only a body and no dependencies, unless the queue uses keys.
  @usableFromInline
  func addAtOnce(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: consuming @escaping Run.Body
  ) -> Run? {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    return admit(run, after: dependencies, room: .atOnce) == nil ? run : nil
  }

  /// Adds a run if the queue can admit it immediately; otherwise, counts the refusal and throws the corresponding error.
  ///
  /// - Complexity: O(1) for a run that has only a body and no dependencies, unless the queue uses keys.
  func tryAdd(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: @escaping Run.Body
  ) throws(ProcedureError) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    guard let error = admit(run, after: dependencies, room: .atOnce)?.error(of: run) else { return run }
    send { state, _ in state.count(run, .failed(error), nil) }
    throw error
  }

  /// Returns whether a run is on this queue, or executes within a body on it. Such a run is allowed to add runs even during a shutdown.
  func isAround(_ run: Run?) -> Bool { run?.ancestors.contains { $0.core === self } ?? false }
}
