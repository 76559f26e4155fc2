import ProcedureKit
import TestingProcedureKit

/// Two queues for random programs, with checks of their invariants.
struct QueueSystem: ProgramSystem {
  let world: any ProgramWorld
  let queues: [ProcedureQueue]
  let recorders: [EventRecorder]
  let monitors = [ConcurrencyMonitor(), ConcurrencyMonitor()]
  let started = Locked<[String: Int]>([:])
  let ended = Locked<[String: Int]>([:])
  let widest = Locked([1, 2])
  let usage = ResourceUsage()
  private let names = Locked(0)
  private let handles = Locked<[ProcedureHandle<Int>]>([])
  private let callers = Locked<[Task<Void, Never>]>([])
  /// The bodies that have called the executing procedure, which uses their slot.
  @TaskLocal static var bodies: [ProcedureContext] = []

  init(_ world: any ProgramWorld) {
    self.world = world
    queues = widest.value.map { world.makeQueue(ProgramQueue(name: "width \($0)", width: $0)) }
    recorders = world.randomNumber(below: 2) == 0 ? queues.map { world.recordEvents(of: $0) } : []
  }

  static func randomCommand(using random: inout SeededGenerator) -> QueueCommand { QueueCommand(using: &random) }

  static func simplerCommands(than command: QueueCommand) -> [QueueCommand] { command.simpler }

  func execute(_ command: QueueCommand) async {
    await pause(world, upTo: 2)
    switch command {
    case .add(let body, let place, let dependency): add(body, to: place, after: dependency.flatMap(handle))
    case .follow(let body, let place, let number): if let handle = handle(number) { follow(handle, body, on: place) }
    case .call(let first, let second, let place):
      let caller = world.startTask { await call(first, second, on: place) }
      callers { $0.append(caller) }
    case .cancel(let number): handle(number)?.cancel(Reason())
    case .suspend(let place): queues[place].suspend()
    case .resume(let place): queues[place].resume()
    case .resize(let place, let width):
      widest { $0[place] = max($0[place], width) }
      queues[place].setMaxConcurrentProcedures(width)
    case .cancelAll(let place): queues[place].cancelAll(Reason())
    case .cancelCallers: for caller in callers.value { caller.cancel() }
    }
  }

  private func handle(_ number: Int) -> ProcedureHandle<Int>? {
    let handles = handles.value
    return handles.isEmpty ? nil : handles[number % handles.count]
  }

  private func newName() -> String {
    names { number in
      number += 1
      return "\(number)"
    }
  }

  private func add(_ plan: BodyPlan, to place: Int, after dependency: ProcedureHandle<Int>?) {
    let task = procedure(plan, newName(), on: place)
    let dependencies: [any ProcedureDependency] = dependency.map { [$0] } ?? []
    let handle = world.watch(queues[place].add(task, after: dependencies))
    handles { $0.append(handle) }
  }

  private func follow(_ handle: ProcedureHandle<Int>, _ plan: BodyPlan, on place: Int) {
    // The body's claims would be taken within the run, which would then execute although this body must not.
    let name = newName()
    let task = procedure(plan, name, on: place)
    let following = world.watch(
      queues[place].add(
        ProcedureTask(name) { (_: Result<Int, any Error>) in try await calling { try await task.execute(()) } },
        from: handle.catchingErrors()))
    handles { $0.append(following) }
  }

  private func call(_ first: BodyPlan, _ second: BodyPlan, on place: Int) async {
    let name = newName()
    let result = await queues[place].add(procedure(first, name, on: place)).outcome
    world.tally("run \(result.label)")
    do { _ = try await queues[place].run(procedure(second, "\(name)'", on: place)) } catch {}
  }
}

// MARK: Invariants

extension QueueSystem {
  func finish() async throws {
    for queue in queues { queue.resume() }
    for caller in callers.value { await caller.value }
    for handle in handles.value { await check(handle) }
    for queue in queues { await queue.shutDown() }
    // A run that a body added can outlive the body's wait for the run's value.
    for (name, count) in started.value { world.check(ended.value[name] == count, "\(name) has not ended") }
    for recorder in recorders {
      try await recorder.waitUntilEnded()
      world.check(recorder.events.orderViolations().isEmpty, "\(recorder.events.orderViolations())")
    }
    for (monitor, width) in zip(monitors, widest.value) {
      world.check(monitor.current == 0, "bodies still execute")
      world.check(monitor.most <= width, "\(monitor.most) bodies at once where \(width) may")
    }
    if usage.mostHolders > 1 { world.tally("several hold something") }
    for conflict in usage.conflicts { world.check(false, conflict) }
    world.check(world.resources.count == 0, "\(world.resources.count) keys are left")
  }

  private func check(_ handle: ProcedureHandle<Int>) async {
    let outcome = await handle.outcome
    let steps = await handle.allEvents().steps()
    let (starts, ends) = (started.value[handle.name, default: 0], ended.value[handle.name, default: 0])
    world.check(handle.state == .finished && steps.last == .didFinish, "\(handle) \(steps)")
    world.check(starts <= 1 && starts == ends, "\(handle) was started \(starts) times, and ended \(ends) times")
    // A cancellation may arrive after the body of `follow` has started, and before its call has.
    world.check(
      outcome.isCancelled && starts == 0 || steps.contains(.willExecute) == (starts == 1),
      "\(handle) \(steps), started \(starts) times")
    world.check(steps.contains(.didCancel) == outcome.isCancelled, "\(handle) \(steps), but \(outcome)")
    if outcome.isFinished { world.check(starts == 1, "\(handle) \(outcome)") }
    world.tally(outcome.label)
    if outcome.error(as: ProcedureError.self)?.kind == .exclusionDeadlock { world.tally("refused") }
  }
}
