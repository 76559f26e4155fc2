import ProcedureKit
import TestingProcedureKit

extension AdmissionSystem {
  /// Returns the procedure of a plan.
  func procedure(_ plan: AdmissionPlan, _ name: String) -> ProcedureTask<Void, Void> {
    if case .leaf = plan.way { return leaf(plan.leaf, name) }
    var task = ProcedureTask(name) {
      await pause(world, upTo: 2)
      try await runParts(of: plan, name)
    }
    if plan.continuesAfterFailures { task = task.onFailure(.collect) }
    if let claim = plan.claim { task = apply(claim, to: task) }
    if let hook = plan.hook {
      task = task.onWillFinish { _ in try await queues[0].run(leaf(hook, "hook of \(name)")) }
    }
    if plan.pausesWhenCancelled { task = task.onDidCancel { _ in await pause(world, upTo: 2) } }
    return plan.priority.map { task.priority($0) } ?? task
  }

  private func apply(_ claim: AdmissionPlan.Claim, to task: ProcedureTask<Void, Void>) -> ProcedureTask<Void, Void> {
    switch claim {
    case .exclusive(let categories) where categories.count == 1: task.exclusive(categories[0])
    case .exclusive(let categories): task.exclusive(categories[0], categories[1])
    case .shared(let category): task.shared(category)
    case .units(let count): task.uses(gpu, units: count)
    case .coalesced: task.coalesced(by: "d")
    }
  }

  private func leaf(_ plan: LeafPlan, _ name: String) -> ProcedureTask<Void, Void> {
    let task = ProcedureTask(name) {
      monitor.enter(plan.categories)
      await pause(world, upTo: 2)
      monitor.leave(plan.categories)
      if plan.fails { throw Reason() }
    }
    return switch plan.categories.count {
    case 0: plan.usesUnits ? task.uses(gpu, units: 2) : task
    case 1: task.exclusive(plan.categories[0])
    default: task.exclusive(plan.categories[0]).exclusive(plan.categories[1])
    }
  }

  private func runParts(of plan: AdmissionPlan, _ name: String) async throws {
    let parts = zip(0..., plan.parts).map { procedure($1, "\(name).\($0)") }
    let context = ProcedureContext.current
    switch plan.way {
    case .leaf, .nothing: break
    case .run(let place): try await queues[place].run(countingEnds(of: parts[0], on: place))
    case .add(let place): try await queues[place].add(countingEnds(of: parts[0], on: place)).value
    case .produce: for part in parts { context?.produce(part) }
    case .produceAndWait: try await context?.produce(parts[0]).value
    case .execute: try await parts[0].execute()
    case .runAndExecute(let place):
      async let first: Void = queues[place].run(parts[0])
      async let second: Void = parts[1].execute()
      _ = try await (first, second)
    case .cancelBetween:
      context?.produce(parts[0])
      context?.cancel(Reason())
      context?.produce(parts[1])
    case .escape:
      world.startTask {
        let handle = context?.produce(parts[0])
        _ = await handle?.outcome
      }
    }
  }
}
