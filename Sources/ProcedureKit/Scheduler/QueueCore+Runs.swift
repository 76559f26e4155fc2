extension QueueCore {
  // MARK: Structured runs

  /// Drives a run that `startStructured` did not start, and returns its value.
  @usableFromInline @concurrent
  func drive<Input: Sendable, Output: Sendable>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    run.setBody(task.body(with: input), task.closures)
    return try await run.driveToEnd(admitted: task.layer.traits.rawPriority)
  }

  /// Ends a run that `startStructured` started and `endInline` could not end, because the run failed, was cancelled, or has children.
  @usableFromInline @concurrent
  func finish<Output: Sendable>(_ run: Run, _ result: Result<Output, any Error>) async throws -> Output {
    run.recordBodyEnd(result.map { $0 })
    await run.finish()
    guard let outcome = run.outcome else { preconditionFailure("\(run.identity) ended without an outcome") }
    return try outcome.map { $0 as! Output }.get(of: run.identity)
  }

  // MARK: Added runs

  /// Adds a run to the queue and returns it. If the queue refuses the run, the returned run has already failed.
  ///
  /// - Complexity: O(1) without dependencies.
  @usableFromInline
  func add(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    hasRoom: Bool = false,
    body: @escaping Run.Body
  ) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    if let refusal = admit(run, after: dependencies, room: hasRoom ? .reserved : .byOverflow) {
      run.refuse(refusal.error(of: run))
    }
    return run
  }

  /// Adds a run if the queue currently has room; otherwise, returns `nil`.
  ///
  /// - Complexity: O(1) without dependencies.
  @usableFromInline
  func addAtOnce(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: @escaping Run.Body
  ) -> Run? {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    return admit(run, after: dependencies, room: .atOnce) == nil ? run : nil
  }

  /// Adds a run if the queue can admit it immediately; otherwise, counts the refusal and throws the corresponding error.
  ///
  /// - Complexity: O(1) without dependencies.
  func tryAdd(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: @escaping Run.Body
  ) throws(ProcedureError) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    guard let error = admit(run, after: dependencies, room: .atOnce)?.error(of: run) else { return run }
    send { state, _ in state.count(run, .failed(error), nil) }
    throw error
  }

  /// The rule that determines how a run gets room in a queue that limits its waiting runs.
  enum RoomRule: Sendable {
    /// The run gets room according to the queue's overflow policy, and may replace a waiting run.
    case byOverflow
    /// The run gets the room that was reserved for it.
    case reserved
    /// The run gets room only if there is any, and never replaces another run.
    case atOnce
  }

  /// Admits an added run to the queue (L1, D1).
  ///
  /// - Returns: The reason why the queue refuses the run; `nil` if the run was admitted, or ended because its deadline had passed.
  func admit(
    _ run: Run, after dependencies: [any ProcedureDependency], room: RoomRule = .byOverflow
  ) -> AdmissionLimiter.Refusal? {
    let refusal = admit(run, after: dependencies, room: room, isFromBody: false)
    guard refusal == .shutDown else { return refusal }
    // A body on this queue can still add runs during a shutdown, because the shutdown waits for them (Q4). This is the only case in which
    // the caller matters.
    if isAround(run.parent ?? ProcedureContext.current?.run.nearestUnfinished) {
      return admit(run, after: dependencies, room: room, isFromBody: true)
    }
    if room == .reserved { send { state, _ in state.limiter.releaseReservation(run.keyID) } }
    return refusal
  }

  private func admit(
    _ run: Run, after dependencies: [any ProcedureDependency], room: RoomRule, isFromBody: Bool
  ) -> AdmissionLimiter.Refusal? {
    if !configuration.contextCarriers.isEmpty {
      let bindings = configuration.contextCarriers.map { $0.capture() }
      run.setBindings(bindings)
    }
    let lateness = run.layer.traits.deadline.flatMap { run.lateness($0) }
    if let lateness {
      if room == .reserved { send { state, _ in state.limiter.releaseReservation(run.keyID) } }
      run.refuse(lateness)
      return nil
    }
    let own = run.layer.traits.rawPriority ?? Task.currentPriority.rawValue
    let priority = max(own, run.parent?.currentPriority ?? 0)
    let reading = time.reading()
    var needs = run.layer.needs
    if !dependencies.isEmpty { needs.insert(.dependencies) }
    var next = RunStep.wait
    let refusal = send { state, effects -> AdmissionLimiter.Refusal? in
      guard !state.isShutDown || isFromBody else { return .shutDown }
      if room == .reserved { state.limiter.releaseReservation(run.keyID) }
      var replaced: Run?
      if limitsWaiting, run.parent == nil {
        switch room {
        case .reserved: break
        case .atOnce: if let refusal = state.limiter.refusal(for: run.keyID, state.machine) { return refusal }
        case .byOverflow:
          guard let refusal = state.limiter.refusal(for: run.keyID, state.machine) else { break }
          // The queue is full, so the run either replaces a waiting run or is refused.
          guard let member = state.limiter.takeReplaceable(of: run.keyID, state.machine), let waiting = state.runs[member]
          else { return refusal }
          replaced = waiting
        }
      }
      if !dependencies.isEmpty {
        state.runs[run].details.dependencies.handles = dependencies
        state.runs[run].details.dependencies.missingCount = Int32(dependencies.count)
      }
      let step = admitted(run, priority: priority, needs: needs, after: dependencies, at: reading, &state, &effects)
      if limitsWaiting { state.limiter.addReplaceable(state.runs[run].member, of: run.keyID, state.machine) }
      // The replaced run is cancelled in the same critical section, so that it cannot start in the meantime.
      if let replaced {
        let reason = ProcedureError.replaced(procedure: replaced.identity, by: run.identity)
        replaced.mark(reason, at: reading, &state, &effects)
      }
      next = step
      if state.cancelledByShutdown != nil, run.parent == nil {
        // The grace period has ended, so the run is cancelled like the runs that were on the queue when the period ended.
        run.mark(ProcedureError.queueShutDown(procedure: run.identity, queue: name), at: reading, &state, &effects)
        if let record = CancelledRun(run, state) { state.cancelledByShutdown?.append(record) }
      } else if state.cancelsAdmitted, !run.cancellationScope.isShielded {
        effects.add(.call { run.cancel(nil) })
      }
      return nil
    }
    if let refusal { return refusal }
    run.startDeadline()
    if next != .wait { run.advance(from: next) }
    for dependency in dependencies { watch(dependency, for: run, priority) }
    if !dependencies.isEmpty, run.mayBeAwaited { DeadlockSearch.resolveDeadlock(from: run) }
    return nil
  }

  /// Returns whether a run executes within a body on this queue. Such a run is allowed to add runs even during a shutdown.
  func isAround(_ run: Run?) -> Bool { run?.ancestors.contains { $0.core === self } ?? false }
}
