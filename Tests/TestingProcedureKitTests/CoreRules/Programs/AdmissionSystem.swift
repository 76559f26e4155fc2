import ProcedureKit
import TestingProcedureKit

/// Three queues for random programs of procedures that claim resources, produce, share executions and have hooks.
///
/// Only leaves enter the monitor, so each category is in the monitor at most once.
struct AdmissionSystem: ProgramSystem {
  static let queueCount = 3

  let world: any ProgramWorld
  let queues: [ProcedureQueue]
  let monitor = ConcurrencyMonitor()
  let gpu = Resource("gpu", capacity: 3)
  /// The number of end hooks that were called, by run.
  private let ends = Locked<[ProcedureID: Int]>([:])
  private let names = Locked(0)
  private let handles = Locked<[ProcedureHandle<Void>]>([])
  private let callers = Locked<[Task<Void, Never>]>([])

  init(_ world: any ProgramWorld) {
    self.world = world
    queues = [
      world.makeQueue(ProgramQueue(name: "wide", width: 3)), world.makeQueue(ProgramQueue(name: "narrow", width: 1)),
      world.makeQueue(
        ProgramQueue(
          name: "limited", width: 2, maxWaitingProcedures: 2,
          overflow: world.randomNumber(below: 2) == 0 ? .refuse : .replaceOldest)),
    ]
  }

  static func randomCommand(using random: inout SeededGenerator) -> AdmissionCommand {
    AdmissionCommand(using: &random)
  }

  static func simplerCommands(than command: AdmissionCommand) -> [AdmissionCommand] { command.simpler }

  func execute(_ command: AdmissionCommand) async {
    await pause(world, upTo: 2)
    switch command {
    case .add(let plan, let place, let dependency):
      let dependencies: [any ProcedureDependency] = dependency.flatMap(handle).map { [$0] } ?? []
      let handle = queues[place].add(countingEnds(of: procedure(plan, newName()), on: place), after: dependencies)
      handles { $0.append(handle) }
    case .enqueue(let plan): startCaller { await enqueue(plan) }
    case .call(let plan, let place): startCaller { await call(plan, on: queues[place]) }
    case .cancel(let number): handle(number)?.cancel(Reason())
    case .suspend(let place): queues[place].suspend()
    case .resume(let place): queues[place].resume()
    case .cancelAll(let place): queues[place].cancelAll(Reason())
    case .cancelCallers: for caller in callers.value { caller.cancel() }
    }
  }

  private func handle(_ number: Int) -> ProcedureHandle<Void>? {
    let handles = handles.value
    return handles.isEmpty ? nil : handles[number % handles.count]
  }

  /// Returns the procedure with a count of its ends on the limited queue.
  func countingEnds(of task: ProcedureTask<Void, Void>, on place: Int) -> ProcedureTask<Void, Void> {
    guard place == 2 else { return task }
    return task.onDidFinish { _ in
      await pause(world, upTo: 1)
      guard let id = ProcedureContext.current?.id else { return world.check(false, "a hook has no context") }
      ends { $0[id, default: 0] += 1 }
    }
  }

  private func newName() -> String {
    names { number in
      number += 1
      return "\(number)"
    }
  }

  private func startCaller(_ body: @escaping @Sendable () async -> Void) {
    let caller = world.startTask(body)
    callers { $0.append(caller) }
  }

  private func enqueue(_ plan: AdmissionPlan) async {
    guard let handle = try? await queues[2].enqueue(countingEnds(of: procedure(plan, newName()), on: 2)) else {
      return world.tally("not enqueued")
    }
    handles { $0.append(handle) }
    world.tally((await handle.outcome).label)
  }

  private func call(_ plan: AdmissionPlan, on queue: ProcedureQueue) async {
    do {
      try await queue.run(procedure(plan, newName()))
      world.tally("finished")
    } catch let error as ProcedureError {
      world.tally("\(error.kind)")
    } catch {
      world.tally(error is Reason ? "failed" : "cancelled")
    }
  }

  func finish() async throws {
    for queue in queues { queue.resume() }
    for caller in callers.value { await caller.value }
    for queue in queues { await queue.shutDown() }
    for queue in queues {
      let snapshot = queue.snapshot()
      world.check(snapshot.procedures.isEmpty && snapshot.slotsInUse == 0, "\(snapshot)")
    }
    for handle in handles.value { world.check(handle.state == .finished, "\(handle) is left") }
    for category in ["a", "b"] { world.check(monitor.most(in: category) <= 1, "\(category) at once") }
    world.check(monitor.current == 0, "bodies still execute")
    world.check(world.resources.count == 0, "\(world.resources.count) keys are left")
    for (id, count) in ends.value { world.check(count == 1, "\(id) ended \(count) times") }
  }
}
