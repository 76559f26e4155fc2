import ProcedureKit
import TestingProcedureKit

/// A random program of procedures that hold things, produce, share executions and have hooks, on three queues.
///
/// Only what has no parts of its own enters the monitor, so that no category may ever be there twice.
struct AdmissionProgram: Sendable {
  let env: any ProgramWorld
  let queues: [ProcedureQueue]
  let monitor = ConcurrencyMonitor()
  /// By run: how many of its hooks of the end were called.
  let ends = Locked<[ProcedureID: Int]>([:])
  let handles = Locked<[ProcedureHandle<Void>]>([])
  let gpu = Resource("gpu", capacity: 3)

  init(_ env: any ProgramWorld) {
    self.env = env
    let ends = ends
    var hooks = ProcedureHooks()
    hooks.onDidFinish = { procedure, _ in
      await pause(env, upTo: 1)
      ends { $0[procedure.id, default: 0] += 1 }
    }
    queues = [
      env.makeQueue(ProgramQueue(name: "wide", width: 3)), env.makeQueue(ProgramQueue(name: "narrow", width: 1)),
      env.makeQueue(
        ProgramQueue(
          name: "limited", width: 2, maxWaitingProcedures: 2,
          overflow: env.randomNumber(below: 2) == 0 ? .refuse : .replaceOldest, hooks: hooks)),
    ]
  }

  func run(steps: Int) async {
    await withTaskGroup(of: Void.self) { callers in
      for number in 0..<steps {
        await pause(env, upTo: 3)
        let queue = pick(queues)
        switch env.randomNumber(below: 12) {
        case 0...4: add("\(number)", to: queue)
        case 5: callers.addTask { await enqueue("\(number)") }
        case 6, 7: callers.addTask { await call("\(number)", on: queue) }
        case 8: if let handle = handles.value.last { handle.cancel(Reason()) }
        case 9: await queue.suspend()
        case 10: await queue.resume()
        default: if chance(3) { await queue.cancelAll(Reason()) } else { callers.cancelAll() }
        }
      }
      for queue in queues { await queue.resume() }
    }
    for queue in queues { await queue.shutDown() }
    check()
  }

  private func check() {
    for queue in queues {
      let snapshot = queue.snapshot()
      env.check(snapshot.procedures.isEmpty && snapshot.slotsInUse == 0, "\(snapshot)")
    }
    for handle in handles.value { env.check(handle.state == .finished, "\(handle) is left") }
    for category in ["a", "b"] { env.check(monitor.most(in: category) <= 1, "\(category) at once") }
    env.check(monitor.current == 0, "bodies still execute")
    env.check(env.resources.count == 0, "\(env.resources.count) keys are left")
    for (id, count) in ends.value { env.check(count == 1, "\(id) ended \(count) times") }
  }

  // MARK: What is started

  private func add(_ name: String, to queue: ProcedureQueue) {
    let task = procedure(name, depth: 0)
    let dependencies: [any ProcedureDependency] = chance(4) ? handles.value.suffix(1) : []
    env.note("add \(name) to \(queue.name)")
    let handle = queue.add(task, after: dependencies)
    handles { $0.append(handle) }
  }

  private func enqueue(_ name: String) async {
    let task = procedure(name, depth: 0)
    env.note("enqueue \(name)")
    guard let handle = try? await queues[2].enqueue(task) else { return env.tally("not enqueued") }
    handles { $0.append(handle) }
    env.tally((await handle.outcome).label)
  }

  private func call(_ name: String, on queue: ProcedureQueue) async {
    let task = procedure(name, depth: 0)
    env.note("run \(name) on \(queue.name)")
    do {
      try await queue.run(task)
      env.tally("finished")
    } catch {
      tell(error)
    }
  }

  private func tell(_ error: any Error) {
    guard let error = error as? ProcedureError else { return env.tally(error is Reason ? "failed" : "cancelled") }
    env.tally("\(error.kind)")
  }

  // MARK: What it does

  private func procedure(_ name: String, depth: Int) -> ProcedureTask<Void, Void> {
    let way = depth < 2 ? env.randomNumber(below: 9) : 8
    var task = ProcedureTask(name) {
      await pause(env, upTo: 2)
      try await nest(name, way, depth: depth)
    }
    if way == 8 { return leaf(name) }
    if chance(6) { task = task.errorPolicy(.continue) }
    if chance(2) { task = claim(task) }
    if chance(5) { task = task.onWillFinish { _ in try await queues[0].run(leaf("hook of \(name)")) } }
    if chance(5) { task = task.onDidCancel { _ in await pause(env, upTo: 2) } }
    return chance(4) ? task.priority(chance(2) ? .high : .low) : task
  }

  private func claim(_ task: ProcedureTask<Void, Void>) -> ProcedureTask<Void, Void> {
    switch env.randomNumber(below: 7) {
    case 0: task.exclusive("a")
    case 1: task.exclusive("b")
    case 2: task.exclusive("a", "b")
    case 3: task.shared("c")
    case 4: task.exclusive("c")
    case 5: task.uses(gpu, units: 1 + env.randomNumber(below: 3))
    default: task.coalesced(by: "d")
    }
  }

  private func leaf(_ name: String) -> ProcedureTask<Void, Void> {
    let (categories, fails) = (pick([["a"], ["b"], ["a", "b"], []]), chance(6))
    let task = ProcedureTask(name) {
      monitor.enter(categories)
      await pause(env, upTo: 2)
      monitor.leave(categories)
      if fails { throw Reason() }
    }
    return switch categories.count {
    case 0: chance(3) ? task.uses(gpu, units: 2) : task
    case 1: task.exclusive(categories[0])
    default: task.exclusive(categories[0]).exclusive(categories[1])
    }
  }

  private func nest(_ name: String, _ way: Int, depth: Int) async throws {
    func part(_ number: Int) -> ProcedureTask<Void, Void> { procedure("\(name).\(number)", depth: depth + 1) }
    let context = ProcedureContext.current
    switch way {
    case 0: try await pick(queues).run(part(0))
    case 1: try await pick(queues).add(part(0)).value
    case 2: for number in 0..<2 { context?.produce(part(number)) }
    case 3: try await context?.produce(part(0)).value
    case 4: try await part(0).execute()
    case 5:
      async let first: Void = pick(queues).run(part(0))
      async let second: Void = part(1).execute()
      _ = try await (first, second)
    case 6:
      context?.produce(part(0))
      context?.cancel(Reason())
      context?.produce(part(1))
    case 7:
      let escaped = part(0)
      env.startTask {
        let handle = context?.produce(escaped)
        _ = await handle?.outcome
      }
    default: break
    }
  }

  private func chance(_ count: Int) -> Bool { env.randomNumber(below: count) == 0 }

  private func pick<Element>(_ elements: [Element]) -> Element { elements[env.randomNumber(below: elements.count)] }
}
