import ProcedureKit
import TestingProcedureKit

/// A random use of two queues, everything at once, with checks of what must hold whatever is done.
struct RandomProgram: Sendable {
  let env: any ProgramWorld
  let queues: [ProcedureQueue]
  let monitors = [ConcurrencyMonitor(), ConcurrencyMonitor()]
  let started = Locked<[String: Int]>([:])
  let ended = Locked<[String: Int]>([:])
  let widest = Locked([1, 2])
  let usage = ResourceUsage()
  /// The bodies that have called the procedure that executes, which uses their slot.
  @TaskLocal private static var callers: [ProcedureContext] = []

  init(_ env: any ProgramWorld) {
    self.env = env
    queues = widest.value.map { env.makeQueue(ProgramQueue(name: "width \($0)", width: $0)) }
  }

  func run(steps: Int) async throws {
    let recorders = chance(2) ? queues.map { env.recordEvents(of: $0) } : []
    var handles: [ProcedureHandle<Int>] = []
    try await withThrowingTaskGroup(of: Void.self) { callers in
      for number in 0..<steps {
        await pause(env, upTo: 3)
        let place = env.randomNumber(below: 2)
        switch env.randomNumber(below: 12) {
        case 0...3: handles.append(env.watch(add("\(number)", to: place, among: handles)))
        case 4, 5: if let handle = pick(handles) { handles.append(env.watch(follow("\(number)", handle, on: place))) }
        case 6: if let handle = pick(handles) { cancel(handle) }
        case 7: await toggle(place, isSuspended: true)
        case 8: await toggle(place, isSuspended: false)
        case 9: await resize(place, to: 1 + env.randomNumber(below: 3))
        case 10: callers.addTask { await call("\(number)", on: place) }
        default: if chance(3) { await cancelAll(place) } else { callers.cancelAll() }
        }
      }
      for place in queues.indices { await toggle(place, isSuspended: false) }
      try await callers.waitForAll()
    }
    await checkAll(handles)
    for queue in queues { await queue.shutDown() }
    // What a body has added outlives its wait for the value.
    for (name, count) in started.value { env.check(ended.value[name] == count, "\(name) has not ended") }
    for recorder in recorders {
      try await recorder.waitUntilEnded()
      env.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
    }
    for (place, monitor) in monitors.enumerated() {
      env.check(monitor.current == 0, "bodies still execute")
      let width = widest.value[place]
      env.check(monitor.most <= width, "\(monitor.most) bodies at once where \(width) may")
    }
    if usage.mostHolders > 1 { env.tally("several hold something") }
    for conflict in usage.conflicts { env.check(false, conflict) }
    env.check(env.resources.count == 0, "\(env.resources.count) keys are left")
  }

  private func chance(_ count: Int) -> Bool { env.randomNumber(below: count) == 0 }

  private func pick(_ handles: [ProcedureHandle<Int>]) -> ProcedureHandle<Int>? {
    handles.isEmpty ? nil : handles[env.randomNumber(below: handles.count)]
  }
}

// MARK: What is done to queues

extension RandomProgram {
  private func cancel(_ handle: ProcedureHandle<Int>) {
    env.note("cancel \(handle)")
    handle.cancel(Reason())
  }

  private func cancelAll(_ place: Int) async {
    env.note("cancel all on queue \(place)")
    await queues[place].cancelAll(Reason())
  }

  private func toggle(_ place: Int, isSuspended: Bool) async {
    env.note("\(isSuspended ? "suspend" : "resume") queue \(place)")
    if isSuspended { await queues[place].suspend() } else { await queues[place].resume() }
  }

  private func resize(_ place: Int, to width: Int) async {
    env.note("queue \(place) gets the width \(width)")
    widest { $0[place] = max($0[place], width) }
    await queues[place].setMaxConcurrentProcedures(width)
  }

  private func add(_ name: String, to place: Int, among handles: [ProcedureHandle<Int>]) -> ProcedureHandle<Int> {
    let task = conditional(body(name, on: place, depth: 0))
    let dependencies: [any ProcedureDependency] = chance(3) ? pick(handles).map { [$0] } ?? [] : []
    env.note("add \(name) to queue \(place) after \(dependencies.map(\.identity.name))")
    return queues[place].add(task, after: dependencies)
  }

  private func follow(_ name: String, _ handle: ProcedureHandle<Int>, on place: Int) -> ProcedureHandle<Int> {
    // What it wanted would be claimed inside of the run, which executes then although this body may not.
    let task = body(name, on: place, depth: 0, wants: RandomWants())
    env.note("add \(name) to queue \(place) after the result of \(handle)")
    return queues[place].add(
      ProcedureTask(name) { (_: Result<Int, any Error>) in try await call(task) }, from: handle.asResult)
  }

  private func call(_ name: String, on place: Int) async {
    env.note("run \(name) on queue \(place)")
    let result = await queues[place].add(conditional(body(name, on: place, depth: 0))).outcome
    env.tally("run \(result.label)")
    do { _ = try await queues[place].run(conditional(body("\(name)'", on: place, depth: 0))) } catch {}
  }
}

// MARK: What is run

extension RandomProgram {
  private func conditional(_ task: ProcedureTask<Void, Int>) -> ProcedureTask<Void, Int> {
    guard chance(3) else { return task }
    let (isSatisfied, fails) = (!chance(3), chance(5))
    return task.condition("by chance") {
      await pause(env, upTo: 2)
      if fails { throw Reason(text: "condition") }
      return isSatisfied
    }
  }

  /// A body that executes once, for a while, and by chance runs something else on the same queue in between.
  private func body(
    _ name: String, on place: Int, depth: Int, wants given: RandomWants? = nil
  ) -> ProcedureTask<Void, Int> {
    let way = depth < 2 ? env.randomNumber(below: 10) : 9
    let wants = given ?? RandomWants(env)
    let task = ProcedureTask(name) {
      started { $0[name, default: 0] += 1 }
      defer { ended { $0[name, default: 0] += 1 } }
      let use = usage.starts(name, wants)
      defer { usage.ends(use) }
      await work(on: place)
      env.note("\(name) goes on in way \(way)")
      try await nest(name, way, on: place, depth: depth)
      await work(on: place)
      return 1
    }
    return wants.apply(to: chance(4) ? task.priority(chance(2) ? .high : .low) : task)
  }

  private func nest(_ name: String, _ way: Int, on place: Int, depth: Int) async throws {
    func child(_ number: Int) -> ProcedureTask<Void, Int> {
      conditional(body("\(name).\(number)", on: place, depth: depth + 1))
    }
    let queue = queues[place]
    switch way {
    case 0: _ = try await queue.run(child(0))
    case 1: _ = try await queue.add(child(0)).value
    // One way only: two queues whose bodies wait for each other deadlock by their user's will.
    case 2 where place == 0: _ = try await queues[1].run(ProcedureTask { await work(on: 1) })
    case 3: _ = try await queue.run(graph(name, on: place, depth: depth + 1))
    case 4: throw Reason(text: name)
    case 5:
      async let first = queue.run(child(0))
      async let second = queue.run(child(1))
      _ = try await (first, second)
    case 6:
      let children = (0..<3).map { queue.add(child($0)) }
      children[1].cancel()
      for child in children { _ = await child.outcome }
    case 7: _ = try await call(graph(name, on: place, depth: depth + 1).procedureTask)
    default: break
    }
  }

  /// Two nodes, or four of which one may fail, and one that follows them.
  private func graph(_ name: String, on place: Int, depth: Int) -> ProcedureGraph<Void, Int> {
    let count = 2 + env.randomNumber(below: 3)
    let (failing, accepts) = (chance(3) ? env.randomNumber(below: count) : -1, chance(2))
    let graph = ProcedureGraph("graph of \(name)") { (g: GraphBuilder) -> Node<Int> in
      let nodes = (0..<count).map { number in
        let part = conditional(body("\(name):\(number)", on: place, depth: max(depth, 1)))
        return g.add(number == failing ? part.map { _ in throw Reason(text: "node") } : part)
      }
      let join = ProcedureTask("\(name):join") { (_: [Int]) in
        await work(on: place)
        return 1
      }
      guard accepts else { return g.add(join, from: nodes) }
      let results = g.add(from: nodes.map(\.asResult))
      let accept = ProcedureTask("\(name):accept") { (values: [Result<Int, any Error>]) in values.count }
      return g.add(accept, from: results)
    }
    return graph.errorPolicy(chance(2) ? .failFast : .continue).limit(chance(2) ? 1 : 4)
  }

  private func call(_ task: ProcedureTask<Void, Int>) async throws -> Int {
    try await Self.$callers.withValue(Self.callers + [ProcedureContext.current].compactMap(\.self)) {
      try await task.execute(())
    }
  }

  private func work(on place: Int) async {
    // A cancelled body goes on to its end without a slot (C5), also in what it calls to clean up.
    let bodies = Self.callers + [ProcedureContext.current].compactMap(\.self)
    guard !bodies.contains(where: \.isCancelled) else { return await pause(env, upTo: 2) }
    monitors[place].enter()
    await pause(env, upTo: 2)
    monitors[place].leave()
  }
}

// MARK: What must hold

extension RandomProgram {
  private func checkAll(_ handles: [ProcedureHandle<Int>]) async {
    for handle in handles {
      let outcome = await handle.outcome
      let steps = await handle.allEvents().steps()
      let (starts, ends) = (started.value[handle.name, default: 0], ended.value[handle.name, default: 0])
      env.check(handle.state == .finished && steps.last == .didFinish, "\(handle) \(steps)")
      env.check(starts <= 1 && starts == ends, "\(handle) was started \(starts) times, and ended \(ends) times")
      // A cancel may come after the body of `follow` has started, and before what it calls has.
      env.check(
        outcome.isCancelled && starts == 0 || steps.contains(.willExecute) == (starts == 1),
        "\(handle) \(steps), started \(starts) times")
      env.check(steps.contains(.didCancel) == outcome.isCancelled, "\(handle) \(steps), but \(outcome)")
      if outcome.isFinished { env.check(starts == 1, "\(handle) \(outcome)") }
      env.tally(outcome.label)
      if outcome.error(as: ProcedureError.self)?.kind == .exclusionDeadlock { env.tally("refused") }
    }
  }
}
