extension Run {
  // MARK: The body

  /// Calls the hooks and the body, with the values that the queue's carriers captured (Q5). Returns the next step of the run, which is
  /// `finish` unless the body is executed again.
  func execute() async -> RunStep {
    let isFirst = !layer.repeats || core.read { !hasStarted($0) }
    // The node has its own key, so its worker needs a slot for that key.
    if isFirst, hasKeyOfNode { await switchKey(to: self) }
    let hasBindings = kind == .added && !core.configuration.contextCarriers.isEmpty
    // The layer paused, and released its resources and those of the enclosing layers for the pause (R2). Some of them may be missing even
    // though the layer's claim was granted, because another task of the body has used them for its own claim, or released them again.
    if !isFirst, kind == .layer, let error = await reclaim([self] + enclosingLayers) {
      core.update { $0[self].details.result = .failure(error) }
      return .finish
    }
    let needsChildTask = needsChildTask
    let end: BodyEnd
    if needsChildTask || hasBindings {
      let box = ResultBox<BodyEnd>()
      await withBindings {
        guard needsChildTask else { return box.store(.success(await self.executeOnce(isFirst: isFirst))) }
        let work = CancellableTask()
        await self.withTaskAndRunCancellationHandler {
          let once: @concurrent @Sendable () async -> Void = {
            box.store(.success(await self.executeOnce(isFirst: isFirst)))
          }
          // The hedge has already created a task for each copy.
          if self.kind == .copy { return await work.executeHere(once) }
          await work.execute(startsAtOnce: !self.isDeep, once)
        } onCancel: {
          work.cancel()
        }
      }
      end = (try? box.result?.get()) ?? .recorded
    } else {
      end = await executeOnce(isFirst: isFirst)
    }
    switch end {
    case .ended(let result):
      // The run can end together with its body if it has no end hooks, its task was not cancelled, and its end does not stop its parent.
      let outcome = RunOutcome(result)
      let mayStopParent = outcome.failure != nil && kind == .added && parent != nil
      if !layer.hasEndHooks, !mayStopParent, !isTaskCancelled, core.finishInline(self, outcome, nextFor: nil).hasEnded {
        notifyParent()
      } else {
        recordBodyEnd(result)
      }
      return .finish
    case .recorded: return .finish
    case .pause(let pause): return paused(pause.duration)
    }
  }

  /// Whether the body executes in a child of the caller's task, which the run can cancel (C5).
  ///
  /// A timeout, a deadline, or a hedge cancels a body without cancelling the caller. The body of a shield must not be affected by
  /// cancellation of the caller.
  var needsChildTask: Bool {
    !isDrivenByWorker
      && (layer.hasTimeout || layer.traits.deadline != nil || kind == .copy || cancellationScope.opensShield)
  }

  private enum BodyEnd: Sendable {
    /// The body ended.
    case ended(Result<any Sendable, any Error>)
    /// The body's result, a reused value, or a hook's error has been stored, or the run was cancelled before it started (C2).
    case recorded
    /// Another execution follows, after a pause.
    case pause(Pause)
  }

  /// Executes the body once, with its hooks and in its context. The first execution starts the timeout (C5).
  private func executeOnce(isFirst: Bool) async -> BodyEnd {
    await ProcedureContext.bound.withValue(.init(self)) {
      do {
        if isFirst {
          startTimeout()
          if layer.reuses, try await reuse() { return .recorded }
          let hooks = layer.hasWillExecuteHooks ? core.read { $0.runs[self].body } : nil
          _ = try await hooks?(self, .hooks)
        }
      } catch {
        core.update { $0[self].details.result = .failure(error) }
        return .recorded
      }
      guard let body = startBodyUnlessCancelled() else { return .recorded }
      let end = await forwardingTaskCancellation { await callBodyOnExecutor(body) }
      guard layer.hasDidExecuteHooks, case .ended(let result) = end else { return end }
      if let hooks = recordBodyEnd(result) { await callDidExecuteHooks(hooks, result) }
      return .recorded
    }
  }

  /// Executes the body on the executor of the queue (Q6).
  @inline(__always)
  private func callBodyOnExecutor(_ body: @escaping Body) async -> BodyEnd {
    if core.executor == nil, !core.hasInterceptor { return await callBody(body) }
    // A layer in the task of the enclosing layer is already executing on the executor of that layer.
    guard let executor = core.executor, !isDrivenByWorker, kind != .layer || !isInTaskOfEnclosingBody
    else { return await callBodyIntercepted(body) }
    return await withTaskExecutorPreference(executor) { await callBodyIntercepted(body) }
  }

  /// Executes the body within the queue's interceptor, which receives the error of each attempt but is not informed of pauses.
  private func callBodyIntercepted(_ body: @escaping Body) async -> BodyEnd {
    guard let interceptor = core.configuration.interceptor, isReported else { return await callBody(body) }
    let end = ResultBox<BodyEnd>()
    do {
      try await interceptor(ProcedureContext(self)) { [self] in
        let bodyEnd = await callBody(body)
        end.store(.success(bodyEnd))
        switch bodyEnd {
        case .ended(let result): _ = try result.get()
        case .pause(let pause): if let error = pause.error { throw error }
        case .recorded: break
        }
      }
      // The interceptor may have returned without calling `next`.
      return try end.result?.get()
        ?? .ended(.failure(ProcedureError(.bodySkipped, procedure: identity) { $0.queue = core.name }))
    } catch {
      if case .success(.pause(let pause))? = end.result { return .pause(pause) }
      return .ended(.failure(error))
    }
  }

  /// Executes the body, after which the run's repetition, if any, decides whether another execution follows.
  @inline(__always)
  private func callBody(_ body: Body) async -> BodyEnd {
    let result = await Result(awaiting: { () async throws in try await body(self, .execute) })
    guard layer.repeats else { return .ended(result) }
    let repetition = core.read { $0.runs[self].details.pause.repetition }
    return await repetition?.pause(after: result, in: self).map { .pause($0) } ?? .ended(result)
  }

  /// Looks up an existing value to use as the result of the body. Returns whether there is one.
  private func reuse() async throws -> Bool {
    let (body, name) = core.read { ($0.runs[self].body, $0.runs[self].closures?.reuse?.name) }
    guard let body, let name, let reused = try await body(self, .reuse) as? ModifierLayer.Reused else { return false }
    core.update { runs in
      runs[self].details.result = .success(reused.value)
      runs[reported].details.extensions.isReused = true
    }
    report(.reused(by: name))
    log.log(level: .debug, "reused an existing value: \(name)")
    return true
  }

  /// Executes the body and forwards cancellation of the caller's task to the run and its children (C4).
  @inline(__always)
  private func forwardingTaskCancellation(_ body: () async -> BodyEnd) async -> BodyEnd {
    if !followsTask { return await body() }
    let isWatched = core.update { runs in
      // If the same task executes the enclosing body, both runs share the watched task.
      let enclosing = enclosingWatchedTask(runs)
      let isWatched = enclosing?.isCurrent ?? false
      runs[self].watchedTask = isWatched ? enclosing : WatchedTask()
      return isWatched
    }
    defer { core.update { $0[self].watchedTask = nil } }
    // The enclosing run forwards cancellation of this task. If each of 10,000 layers installed a handler, the runtime would visit all
    // of them for each layer.
    if isWatched { return await body() }
    return await withTaskCancellationHandler(operation: body) { cancelLikeParent() }
  }

  /// Whether the body executes in the task of the enclosing body. If so, both bodies share the watched task.
  private var isInTaskOfEnclosingBody: Bool {
    core.read { state in
      guard let enclosing = enclosingWatchedTask(state.runs) else { return false }
      return state.runs[self].watchedTask === enclosing
    }
  }

  /// Returns the task that executes the enclosing body, if that body is on the same queue and its task is watched.
  private func enclosingWatchedTask(_ runs: borrowing RunTable) -> WatchedTask? {
    guard let parent, parent.core === core else { return nil }
    return runs[parent].watchedTask
  }

  /// Records that the body is starting: for the first time, as the next attempt of a retry, or again in a repetition. A repetition
  /// publishes no event (L2).
  @inline(__always)
  func startBody(at reading: QueueClock.Reading, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    if state.machine.bodyStarted(state.runs[self].member) {
      if keepsInstants { state.runs[self].start(at: core.time.instant(of: reading)) }
    } else {
      guard state.runs[self].details.pause.isRetrying else { return }
      if !isReported { state.runs[reported].details.pause.innerRetryCount += 1 }
      state.runs[self].details.pause.isRetrying = false
    }
    record(at: core.time.instant(of: reading), &state, &effects) { state in
      .init(
        step: .willExecute(attempt: Int(state.runs[self].details.pause.currentAttempt)), slot: slotNumber(state),
        slotWait: slotWait(state), executionCause: state.runs[self].details.extensions.executionCause)
    }
  }

  /// Records the end of the body and its result. Returns the hooks to call; `nil` if there are none.
  @discardableResult
  func recordBodyEnd(_ result: Result<any Sendable, any Error>?) -> ModifierLayer.Hooks? {
    let reading = core.time.lazyReading()
    return core.send { state, effects in
      if let result { state.runs[self].details.result = result }
      // If the run ended during a pause, the end of the attempt before the pause is already recorded.
      if !state.runs[self].details.pause.isRetrying { recordBodyEnd(at: reading, &state, &effects) }
      return layer.hasDidExecuteHooks ? state.runs[self].closures?.hooks : nil
    }
  }

  /// Records that an execution of the body ended (L2).
  @inline(__always)
  func recordBodyEnd(
    at reading: QueueClock.Reading, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects
  ) {
    if keepsInstants { state.runs[self].endBody(at: core.time.instant(of: reading)) }
    record(at: core.time.instant(of: reading), &state, &effects) { state in
      .init(
        step: .didExecute(attempt: Int(state.runs[self].details.pause.currentAttempt)), slot: slotNumber(state))
    }
  }

  /// Calls the hooks that follow the body. A hook that throws fails the run (L3).
  func callDidExecuteHooks(_ hooks: ModifierLayer.Hooks, _ result: Result<any Sendable, any Error>) async {
    cancelIfTaskIsCancelled()
    let cancellation = core.read { $0.runs[self].details.cancellation }
    let ending = cancellation?.outcome ?? RunOutcome(result)
    do {
      for hook in hooks.didExecute { try await hook(ending) }
    } catch {
      core.update { $0[self].details.result = .failure(error) }
    }
  }

  /// Whether the run is nested so deeply that starting a child task on the caller's stack could overflow the stack.
  private var isDeep: Bool { ancestors.dropFirst(16).contains { _ in true } }

  // MARK: Task locals

  /// Executes an operation with the task-local values that the queue's carriers captured when the run was added (Q5).
  func withBindings(_ operation: @escaping @Sendable () async -> Void) async {
    let bindings = core.read { $0.runs[self].details.bindings }
    if bindings.isEmpty { return await operation() }
    await Self.bind(bindings[...], operation)
  }

  static func bind(
    _ bindings: ArraySlice<ContextCarrier.Binding>, _ operation: @escaping @Sendable () async -> Void
  ) async {
    guard let first = bindings.first else { return await operation() }
    await first { await bind(bindings.dropFirst(), operation) }
  }
}
