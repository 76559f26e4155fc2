import ProcedureKit
import TestingProcedureKit

extension QueueSystem {
  /// Returns a procedure whose body executes once, for a while, and runs its nested procedures in between.
  func procedure(_ plan: BodyPlan, _ name: String, on place: Int) -> ProcedureTask<Void, Int> {
    var task = ProcedureTask(name) {
      started { $0[name, default: 0] += 1 }
      defer { ended { $0[name, default: 0] += 1 } }
      let use = usage.starts(name, plan.wants)
      defer { usage.ends(use) }
      await work(on: place)
      try await runParts(of: plan, name, on: place)
      await work(on: place)
      return 1
    }
    if let priority = plan.priority { task = task.priority(priority) }
    task = plan.wants.apply(to: task)
    guard let condition = plan.condition else { return task }
    return task.condition("by chance") {
      await pause(world, upTo: 2)
      if condition == .failing { throw Reason(text: "condition") }
      return condition == .satisfied
    }
  }

  private func runParts(of plan: BodyPlan, _ name: String, on place: Int) async throws {
    let parts = zip(0..., plan.parts).map { procedure($1, "\(name).\($0)", on: place) }
    let queue = queues[place]
    switch plan.way {
    case .nothing: break
    case .fail: throw Reason(text: name)
    case .run: _ = try await queue.run(parts[0])
    case .add: _ = try await queue.add(parts[0]).value
    // Only one direction is used: if the bodies of two queues wait for each other, the deadlock is the user's mistake.
    case .elsewhere: if place == 0 { _ = try await queues[1].run(ProcedureTask { await work(on: 1) }) }
    case .mapElsewhere:
      if place == 0 { _ = try await queues[1].map([1, 2], with: ProcedureTask { (_: Int) in await work(on: 1) }) }
    case .cancelSelf:
      ProcedureContext.current?.cancel(Reason(text: name))
      if place == 0 { _ = try await queues[1].add(ProcedureTask { await work(on: 1) }).value }
    case .failChild:
      ProcedureContext.current?.produce(ProcedureTask { throw Reason(text: "child") })
      if place == 0 { _ = try await queues[1].add(ProcedureTask { await work(on: 1) }).value }
    case .call: _ = try await calling { try await parts[0]() }
    case .runBoth:
      async let first = queue.run(parts[0])
      async let second = queue.run(parts[1])
      _ = try await (first, second)
    case .cancelOne:
      let children = parts.map { queue.add($0) }
      children[1].cancel()
      for child in children { _ = await child.outcome }
    case .runGraph(let plan): _ = try await queue.run(graph(plan, of: parts, name, on: place))
    case .callGraph(let plan): _ = try await calling { try await graph(plan, of: parts, name, on: place)() }
    }
  }

  private func graph(
    _ plan: GraphPlan, of parts: [ProcedureTask<Void, Int>], _ name: String, on place: Int
  ) -> ProcedureGraph<Void, Int> {
    let graph = ProcedureGraph("graph of \(name)") { (g: GraphBuilder) -> Node<Int> in
      let nodes = zip(0..., parts).map { number, part in
        g.add(number == plan.failing ? part.map { _ in throw Reason(text: "node") } : part)
      }
      let join = ProcedureTask("\(name).join") { (_: [Int]) in
        await work(on: place)
        return 1
      }
      guard plan.acceptsFailures else { return g.add(join, from: nodes) }
      let results = g.add(from: nodes.map { $0.catchingErrors() })
      let accept = ProcedureTask("\(name).accept") { (values: [Result<Int, any Error>]) in values.count }
      return g.add(accept, from: results)
    }
    return graph.onFailure(plan.policy).maxConcurrentNodes(plan.limit)
  }

  /// Executes a call of a procedure by the current body, whose slot the procedure uses.
  func calling(_ call: @Sendable () async throws -> Int) async throws -> Int {
    try await Self.$bodies.withValue(Self.bodies + [ProcedureContext.current].compactMap(\.self)) { try await call() }
  }

  private func work(on place: Int) async {
    // A cancelled body continues without a slot until it ends (C7), even in calls that clean up.
    let bodies = Self.bodies + [ProcedureContext.current].compactMap(\.self)
    guard !bodies.contains(where: \.isCancelled) else { return await pause(world, upTo: 2) }
    monitors[place].enter()
    await pause(world, upTo: 2)
    monitors[place].leave()
  }
}
