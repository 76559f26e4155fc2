import TestingProcedureKit

/// A random use of two queues, everything at once, with checks of what must hold whatever is done.
struct RandomProgram: Sendable {
  let env: ExplorationEnvironment
  let queues: [ProcedureQueue]
  let monitors = [ConcurrencyMonitor(), ConcurrencyMonitor()]
  let started = Locked<[String: Int]>([:])
  let ended = Locked<[String: Int]>([:])
  let widths = [1, 2]

  init(_ env: ExplorationEnvironment) {
    self.env = env
    queues = widths.map { env.makeQueue("width \($0)", maxConcurrentProcedures: $0) }
  }

  func run(steps: Int) async throws {
    let recorders = queues.map { env.recordEvents(of: $0) }
    var handles: [ProcedureHandle<Int>] = []
    for number in 0..<steps {
      await pause(env, upTo: 3)
      let place = env.random.below(2)
      switch env.random.below(8) {
      case 0...3: handles.append(env.watch(add("\(number)", to: place, among: handles)))
      case 4: if let handle = pick(handles) { cancel(handle) }
      case 5: await toggle(place, isSuspended: true)
      case 6: await toggle(place, isSuspended: false)
      default: if let handle = pick(handles) { handles.append(env.watch(follow("\(number)", handle, on: place))) }
      }
    }
    for place in queues.indices { await toggle(place, isSuspended: false) }
    try await checkAll(handles)
    for queue in queues { await queue.shutDown() }
    for recorder in recorders {
      try await recorder.waitUntilEnded()
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
    }
    for (place, monitor) in monitors.enumerated() {
      env.check(monitor.current == 0, "bodies still execute")
      env.check(monitor.most <= widths[place], "\(monitor.most) bodies at once where \(widths[place]) may")
    }
  }

  private func cancel(_ handle: ProcedureHandle<Int>) {
    env.note("cancel \(handle)")
    handle.cancel(Reason())
  }

  private func toggle(_ place: Int, isSuspended: Bool) async {
    env.note("\(isSuspended ? "suspend" : "resume") \(queues[place].name)")
    if isSuspended { await queues[place].suspend() } else { await queues[place].resume() }
  }

  private func pick(_ handles: [ProcedureHandle<Int>]) -> ProcedureHandle<Int>? {
    handles.isEmpty ? nil : handles[env.random.below(handles.count)]
  }

  /// A body that executes once, for a while, and by chance runs something else on the same queue in between.
  private func body(_ name: String, on place: Int) -> ProcedureTask<Void, Int> {
    let nesting = env.random.below(6)
    return ProcedureTask(name) { [self] in
      started { $0[name, default: 0] += 1 }
      defer { ended { $0[name, default: 0] += 1 } }
      await work(on: place)
      env.note("\(name) nests in way \(nesting)")
      let child = ProcedureTask("child of \(name)") {
        await work(on: place)
        return 1
      }
      switch nesting {
      case 0: _ = try await queues[place].run(child)
      case 1: _ = try await queues[place].add(child).value
      // One way only: two queues whose bodies wait for each other deadlock by their user's will.
      case 2 where place == 0: _ = try await queues[1].run(ProcedureTask { await work(on: 1) })
      case 3: try await queues[place].run(graph(on: place))
      case 4: throw Reason(text: name)
      default: break
      }
      await work(on: place)
      return 1
    }
  }

  private func graph(on place: Int) -> ProcedureGraph<Void, Void> {
    ProcedureGraph { (g: GraphBuilder) -> Void in
      let nodes = (0..<2).map { _ in
        g.add(
          ProcedureTask {
            await work(on: place)
            return 1
          })
      }
      g.add(ProcedureTask { (_: [Int]) in await work(on: place) }, from: nodes)
    }
  }

  private func work(on place: Int) async {
    monitors[place].enter()
    await pause(env, upTo: 2)
    monitors[place].leave()
  }

  private func add(_ name: String, to place: Int, among handles: [ProcedureHandle<Int>]) -> ProcedureHandle<Int> {
    var task = body(name, on: place)
    let isConditional = env.random.below(3) == 0
    if isConditional {
      let isSatisfied = env.random.below(3) > 0
      task = task.condition("by chance") {
        await pause(env, upTo: 2)
        return isSatisfied
      }
    }
    let dependencies: [any ProcedureDependency] = env.random.below(3) == 0 ? pick(handles).map { [$0] } ?? [] : []
    env.note("add \(name) to \(queues[place].name) after \(dependencies.map(\.identity)), conditions: \(isConditional)")
    return queues[place].add(task, after: dependencies)
  }

  private func follow(_ name: String, _ handle: ProcedureHandle<Int>, on place: Int) -> ProcedureHandle<Int> {
    let task = body(name, on: place)
    env.note("add \(name) to \(queues[place].name) after the result of \(handle)")
    return queues[place].add(
      ProcedureTask(name) { (_: Result<Int, any Error>) in try await task.operation() }, from: handle.result)
  }

  private func checkAll(_ handles: [ProcedureHandle<Int>]) async throws {
    for handle in handles {
      let outcome = await handle.outcome
      let steps = await handle.allEvents().steps()
      let (starts, ends) = (started.value[handle.name, default: 0], ended.value[handle.name, default: 0])
      env.check(handle.state == .finished && steps.last == .didFinish, "\(handle) \(steps)")
      env.check(starts <= 1 && starts == ends, "\(handle) was started \(starts) times, and ended \(ends) times")
      env.check(steps.contains(.willExecute) == (starts == 1), "\(handle) \(steps), started \(starts) times")
      env.check(steps.contains(.didCancel) == outcome.isCancelled, "\(handle) \(steps), but \(outcome)")
      if outcome.isFinished || outcome.error is Reason { env.check(starts == 1, "\(handle) \(outcome)") }
      if outcome.isIgnored || outcome.procedureError != nil { env.check(starts == 0, "\(handle) \(outcome)") }
      env.tally(outcome.label)
    }
  }
}

extension ProcedureTask where Input == Void {
  /// Executes as a part of the body that calls it.
  fileprivate func operation() async throws -> Output { try await execute(()) }
}
