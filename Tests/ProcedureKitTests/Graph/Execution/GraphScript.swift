import TestSupport
import TestingProcedureKit

@testable import ProcedureKit

/// A random graph with one random run, performed as in `GraphRun`, and checked by a ``GraphModel``.
struct GraphScript: CustomStringConvertible {
  private var random: SeededGenerator
  private let endings: [GraphProgress.Ending]
  private let cancelsAt: Int
  private var decisions: GraphDecisions
  private(set) var model: GraphModel
  private var trace: [String] = []
  private var step = 0

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...16, using: &random)
    let edges = Self.randomEdges(count, &random)
    let hasPriorities = Int.random(in: 0..<3, using: &random) == 0
    let priorities = (0..<count).map { _ in hasPriorities ? UInt8.random(in: 0...2, using: &random) : 9 }
    let hasRanks = Bool.random(using: &random)
    let ranks = (0..<count).map { _ in hasRanks ? Int32.random(in: 0...4, using: &random) : 0 }
    let accepted = Bool.random(using: &random) ? Int32.random(in: 0..<Int32(count), using: &random) : -1
    endings = Self.randomEndings(count, &random)
    cancelsAt = Int.random(in: 0..<5, using: &random) == 0 ? Int.random(in: 0..<24, using: &random) : .max
    model = GraphModel(
      count: count, edges: edges, priorities: priorities, ranks: ranks,
      limit: [1, 2, 8, .max].randomElement(using: &random) ?? 1, stopsAtFirstFailure: Bool.random(using: &random),
      acceptedOutput: accepted)
    let shape = GraphShape(
      count: count, edges: ContiguousArray(edges), priorities: ContiguousArray(priorities), acceptedOutput: accepted)
    decisions = GraphDecisions(
      shape: shape, ranks: hasRanks ? ranks : [], limit: model.limit, stopsAtFirstFailure: model.stopsAtFirstFailure)
    self.random = random
  }

  /// Returns the outcome that each node would have. In half of the graphs, everything succeeds.
  private static func randomEndings(_ count: Int, _ random: inout SeededGenerator) -> [GraphProgress.Ending] {
    let failures = [0, 0, 5, 30].randomElement(using: &random) ?? 0
    return (0..<count).map { _ in
      guard Int.random(in: 0..<100, using: &random) < failures else { return .succeeded }
      return Int.random(in: 0..<4, using: &random) == 0 ? .ignored : .failed
    }
  }

  /// Up to three dependencies for each node, near or far, sometimes the same one twice.
  private static func randomEdges(_ count: Int, _ random: inout SeededGenerator) -> [GraphModel.Edge] {
    var edges: [GraphModel.Edge] = []
    for node in 1..<max(1, Int32(count)) {
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let nearest = Bool.random(using: &random) ? max(0, node - 3) : 0
        let accepts = Int.random(in: 0..<4, using: &random) == 0
        edges.append(
          (Int32.random(in: nearest..<node, using: &random), node, accepts))
      }
    }
    if Bool.random(using: &random) { edges.shuffle(using: &random) }
    return edges
  }

  // MARK: The run

  /// Runs the graph until it ends. The objections are in `model`.
  mutating func run() {
    var advance = started()
    while advance.next >= 0, !advance.addsWorker {
      cancelIfItIsTime()
      advance = end(advance.next)
    }
    if !advance.isComplete {
      cancelIfItIsTime()
      if advance.next >= 0 { putBack(advance.next) }
      if !decisions.isComplete { runWorkers() }
    }
    // A worker that has been requested unnecessarily can still arrive, and so can a late cancellation.
    if model.workerIsOrdered { _ = startWorker() }
    _ = cancel()
    if !model.isComplete { object("the run ended before it was complete") }
  }

  private mutating func runWorkers() {
    if !model.workerIsOrdered { object("no worker came to take over") }
    while !model.isComplete, model.objections.isEmpty {
      cancelIfItIsTime()
      let executing = model.executing
      let count = executing.count + (model.workerIsOrdered ? 1 : 0)
      guard count > 0 else { return object("no worker is left to execute the rest") }
      let choice = random.below(count)
      _ = choice < executing.count ? end(executing[choice]) : startWorker()
    }
  }

  private mutating func started() -> GraphProgress.Advance {
    let advance = decisions.started()
    model.happened { _ in }
    return follow(advance, "started")
  }

  private mutating func startWorker() -> GraphProgress.Advance {
    let advance = decisions.workerStarted()
    model.happened { $0.startWorker() }
    return follow(advance, "worker started")
  }

  private mutating func putBack(_ node: Int32) {
    decisions.progress.nodePutBack(node)
    model.happened { $0.giveBack(node) }
    note("\(node) put back")
  }

  private mutating func cancelIfItIsTime() {
    if step >= cancelsAt { _ = cancel() }
  }

  private mutating func cancel() -> GraphProgress.Advance {
    let advance = decisions.progress.cancelled()
    model.happened { $0.stop() }
    return follow(advance, "cancelled", asks: false)
  }

  /// Records that a worker has executed a node, or does not execute it because the run is stopping.
  private mutating func end(_ node: Int32) -> GraphProgress.Advance {
    if decisions.isStopping, Bool.random(using: &random) {
      let advance = decisions.progress.nodeAbandoned()
      model.happened { $0.abandon(node) }
      return follow(advance, "\(node) abandoned", asks: false)
    }
    let ending = endings[Int(node)]
    if ending == .succeeded {
      let advance = decisions.nodeSucceeded(node)
      model.happened { $0.settle(node, .succeeded) }
      return follow(advance, "\(node) succeeded", finished: node)
    }
    var skipped: [GraphCountdown.Skipped] = []
    let (advance, isUnaccepted) = decisions.nodeStopped(node, ending, skipped: &skipped)
    let cancels = ending == .failed && model.reachesEnd(node)
    if isUnaccepted != cancels { object("unaccepted is \(cancels), the machine says \(isUnaccepted)") }
    if advance.cancelsWorkers != (cancels && model.stopsAtFirstFailure && !model.isStopping) {
      object("workers cancelled: \(advance.cancelsWorkers)")
    }
    model.happened {
      $0.settle(node, ending)
      $0.skip(skipped, because: node, ending)
      if advance.cancelsWorkers { $0.stop() }
    }
    return follow(advance, "\(node) \(ending), skipped \(skipped.map(\.node))", finished: node)
  }

  private mutating func follow(
    _ advance: GraphProgress.Advance, _ event: String, asks: Bool = true, finished: Int32? = nil
  ) -> GraphProgress.Advance {
    note("\(event): next \(advance.next)\(advance.addsWorker ? ", adds a worker" : "")")
    model.follow(advance, asks: asks, finished: finished)
    check()
    return advance
  }

  private mutating func check() {
    if decisions.executing != model.executing.count { object("\(decisions.executing) execute for the machine") }
    for contradiction in decisions.contradictions { object(contradiction) }
    if decisions.isStopping != model.isStopping { object("stopping: \(model.isStopping)") }
    if decisions.workerIsStarting != model.workerIsOrdered { object("worker ordered: \(model.workerIsOrdered)") }
  }

  /// A description of the graph and of the steps of the run.
  var description: String {
    let edges = model.edges.map { "\($0.from)\($0.acceptsFailure ? "⇢" : "→")\($0.to)" }
    return (["edges: \(edges.joined(separator: " ")), limit \(model.limit)"] + trace).joined(separator: "\n")
  }

  private mutating func note(_ event: String) {
    step += 1
    trace.append(event)
  }

  private mutating func object(_ objection: String) {
    model.object(objection)
  }
}
