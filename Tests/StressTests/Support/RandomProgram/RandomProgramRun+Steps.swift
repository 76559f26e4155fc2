import Synchronization
import TestSupport
import TestingProcedureKit

/// What the place of a step permits the checks to assume.
struct Scope {
  /// The queue of the procedure to which the place belongs.
  var queue: Int
  /// Whether the resources of each leaf are its own. A procedure in a closure of a modifier can use those of the modified procedure (R4).
  var countsClaims = true
}

extension RandomProgramRun {
  @concurrent func perform(_ step: RandomProgram.Step, _ scope: Scope) async throws {
    let (queue, choice, context) = (queues[step.queue], step.choice, ProcedureContext.current)
    let reason = choice % 2 == 0 ? nil : RandomError()
    var scope = scope
    // A produced procedure executes on the queue of its parent.
    if step.kind != .produce { scope.queue = step.queue }
    let task = step.procedures.first.map { makeTask($0, scope) } ?? ProcedureTask { 0 }
    for _ in 0..<(choice % 4) { await Task.yield() }
    switch step.kind {
    case .run: _ = try await queue.run(task)
    case .runAndCancel:
      let running = Task { try await queue.run(task) }
      await pause(choice)
      running.cancel()
      _ = await running.result
    case .runShielded: _ = try await context?.shielded { try await queue.run(task) }
    case .add, .addAndDrop: add(step, task, after: [])
    case .addAfter:
      let (first, second) = (handle(choice), handle(choice / 7)?.catchingErrors())
      add(step, task, after: [first as (any ProcedureDependency)?, second].compactMap(\.self))
    case .produce:
      guard let handle = context?.produce(task) else { return }
      state.withLock { $0.added.append(Added(procedure: step.procedures[0], handle: handle)) }
      if choice % 2 == 0 { _ = try await handle.value }
    case .pause: await pause(choice)
    case .fail: throw RandomError()
    case .cancelOwnRun: context?.cancel(reason)
    case .cancel: handle(choice)?.cancel(reason)
    case .cancelAll: queue.cancelAll(reason)
    case .awaitHandle: _ = try await handle(choice)?.value
    case .suspend:
      queue.suspend()
      await pause(choice)
      queue.resume()
    case .changeWidth:
      queue.setMaxConcurrentProcedures(1 + choice % 3)
      await pause(choice)
      queue.setMaxConcurrentProcedures(1 + choice / 3 % 3)
    case .waitUntilIdle: await queue.waitUntilIdle()
    case .readEvents:
      let stream = choice % 2 == 0 ? queue.events(bufferingNewest: 4) : handle(choice)?.events
      // The reader often abandons the stream before its end.
      Task { if let stream { for await _ in stream.prefix(choice % 9) {} } }
    case .shutDown: await queue.shutDown(grace: [nil, .zero, .microseconds(choice % 200)][choice % 3])
    }
  }

  @concurrent private func pause(_ choice: Int) async {
    if choice % 3 == 0 { try? await Task.sleep(for: .microseconds(choice % 100)) } else { await Task.yield() }
  }

  private func add(
    _ step: RandomProgram.Step, _ task: ProcedureTask<Void, Int>, after dependencies: [any ProcedureDependency]
  ) {
    // A hook changes the path of a run, so only some procedures have one.
    let ends = step.choice % 2 == 0 ? nil : Record<ProcedureOutcome<Int>>()
    let task = ends.map { ends in task.onDidFinish { ends.append($0) } } ?? task
    let handle = queues[step.queue].add(task, after: dependencies)
    let kept = step.kind == .addAndDrop ? nil : handle
    state.withLock { $0.added.append(Added(procedure: step.procedures[0], handle: kept, ends: ends)) }
  }

  /// Returns the handle of a procedure that was added earlier, if there is one.
  private func handle(_ choice: Int) -> ProcedureHandle<Int>? {
    let handles = state.withLock { $0.added.compactMap(\.handle) }
    return handles.isEmpty ? nil : handles[choice % handles.count]
  }

  // MARK: Procedures

  private func makeTask(_ procedure: RandomProgram.Procedure, _ scope: Scope) -> ProcedureTask<Void, Int> {
    var amounts = [0, 0, 0, 0, 0]
    let twice = procedure.modifiers.firstIndex { $0.kind == .interceptedTwice }
    // If an interceptor calls `next` twice at a time, the calls share the slot, which one can release for a wait while the other continues
    // (Q3), and the claims around the interceptor.
    if twice == nil { amounts[scope.queue] = 1 }
    for modifier in procedure.modifiers[..<(twice ?? procedure.modifiers.endIndex)] where scope.countsClaims {
      let category = 2 + modifier.choice % 2
      switch modifier.kind {
      case .exclusive: amounts[category] = Self.exclusive
      case .shared: amounts[category] = max(amounts[category], 1)
      case .uses: amounts[4] = max(amounts[4], 1 + modifier.choice % 2)
      default: break
      }
    }
    let token = InstanceCount.Token(of: instances)
    var task = ProcedureTask("\(procedure.number)") { [amounts] in
      defer { withExtendedLifetime(token) {} }
      try await self.execute(procedure, amounts, scope)
      return procedure.number
    }
    for modifier in procedure.modifiers { task = modify(task, by: modifier, scope, token) }
    return task
  }

  @concurrent private func execute(
    _ procedure: RandomProgram.Procedure, _ amounts: [Int], _ scope: Scope
  ) async throws {
    switch procedure.body {
    case .leaf, .failingLeaf:
      await using(amounts) { await pause(procedure.choice) }
      if procedure.body == .failingLeaf { throw RandomError() }
      if procedure.choice % 5 == 0 { try Task.checkCancellation() }
    case .sequence: for step in procedure.steps { try await perform(step, scope) }
    case .ignoringErrors: for step in procedure.steps { try? await perform(step, scope) }
    case .concurrently:
      async let first: Void = perform(procedure.steps[0], scope)
      for step in procedure.steps.dropFirst() { try await perform(step, scope) }
      try await first
    }
  }

  private func modify(
    _ task: ProcedureTask<Void, Int>, by modifier: RandomProgram.Modifier, _ scope: Scope, _ token: InstanceCount.Token
  ) -> ProcedureTask<Void, Int> {
    let (choice, number) = (modifier.choice, Int(task.name)!)
    let schedule: Schedule = choice % 3 == 0 ? .immediate : .constant(.microseconds(1 + choice % 100))
    let inner = Scope(queue: scope.queue, countsClaims: false)
    let work: @concurrent @Sendable () async throws -> Void = {
      defer { withExtendedLifetime(token) {} }
      for step in modifier.steps { try await self.perform(step, inner) }
    }
    switch modifier.kind {
    case .exclusive: return task.exclusive(choice % 2)
    case .shared: return task.shared(choice % 2)
    case .uses: return task.uses(units, units: 1 + choice % 2)
    case .priority: return task.priority([.low, .medium, .high, .background][choice % 4])
    case .timeout: return task.timeout(.microseconds(1 + choice))
    case .delay: return task.delay(.microseconds(choice))
    case .falseCondition: return task.condition("false") { false }
    case .interceptedTwice:
      return task.intercepted { _, next in
        async let first = next()
        async let second = next()
        return try await (first + second) / 2
      }
    case .retry:
      return task.retry(schedule, maxAttempts: 2 + choice % 2) { _, _ in
        try? await work()
        return .retry
      }
    case .repeating:
      return task.repeating(schedule, maxCount: 2 + choice % 2) { _ in
        try? await work()
        return true
      }
    case .condition:
      return task.condition("step") {
        try await work()
        return true
      }
    case .onWillExecute: return task.onWillExecute { _ in try await work() }
    case .onDidExecute: return task.onDidExecute { _ in try await work() }
    case .onWillFinish: return task.onWillFinish { _ in try await work() }
    case .onDidFinish: return task.onDidFinish { _ in try? await work() }
    case .onDidCancel: return task.onDidCancel { _ in try? await work() }
    case .recover:
      return task.recover { _ in
        try await work()
        return number
      }
    case .cleanup: return task.cleanup { try await work() }
    case .intercepted:
      return task.intercepted { _, next in
        if choice % 2 == 0 { try await work() }
        let value = try await next()
        if choice % 2 == 1 { try await work() }
        return value
      }
    }
  }
}
