@testable import ProcedureKit

/// The bounds of a ``GraphWorld``: a graph, and what can happen to it.
struct GraphBounds {
  let count: Int
  let edges: [GraphModel.Edge]
  var hasPriorities = false
  /// The ranks of the nodes; empty if their order does not matter.
  var ranks: [Int32] = []
  var limit = 2
  var stopsAtFirstFailure = true
  var failures: UInt8 = 1
  var cancellations: UInt8 = 1

  /// Every graph of up to `count` nodes in which each pair of nodes has no edge or one of either kind.
  static func all(upTo count: Int) -> [GraphBounds] {
    (1...count).flatMap { count -> [GraphBounds] in
      let pairs = (0..<Int32(count)).flatMap { to in (0..<to).map { from in (from, to) } }
      var graphs: [[GraphModel.Edge]] = [[]]
      for (from, to) in pairs {
        graphs = graphs.flatMap { edges in
          [edges, edges + [(from, to, false)], edges + [(from, to, true)]]
        }
      }
      return graphs.map { GraphBounds(count: count, edges: $0) }
    }
  }
}

/// A run of a graph: its progress, and a model of its workers. ``GraphModel`` checks each decision.
///
/// The counters of the nodes are shared memory, so a copy of the state is made by performing its steps again.
final class GraphWorld: ModelWorld {
  let bounds: GraphBounds
  let fault: PlantedFault?
  private var decisions: GraphDecisions
  private var model: GraphModel
  private var path: [UInt16] = []
  /// Whether the caller's task executes the nodes, until another worker is needed.
  private var isInCallersTask = true
  private var failures: UInt8
  private var cancellations: UInt8
  private(set) var violation: Violation?

  init(_ bounds: GraphBounds, fault: PlantedFault? = nil) {
    (self.bounds, self.fault) = (bounds, fault)
    (failures, cancellations) = (bounds.failures, bounds.cancellations)
    let priorities = (0..<bounds.count).map { bounds.hasPriorities ? UInt8($0 % 2) : 9 }
    model = GraphModel(
      count: bounds.count, edges: bounds.edges, priorities: priorities, ranks: bounds.ranks, limit: bounds.limit,
      stopsAtFirstFailure: bounds.stopsAtFirstFailure, acceptedOutput: -1)
    let shape = GraphShape(
      count: bounds.count, edges: ContiguousArray(bounds.edges), priorities: ContiguousArray(priorities),
      acceptedOutput: -1)
    decisions = GraphDecisions(
      shape: shape, ranks: fault == .ranksIgnored ? [] : bounds.ranks, limit: bounds.limit,
      stopsAtFirstFailure: bounds.stopsAtFirstFailure)
    let advance = decisions.started()
    model.happened { _ in }
    follow(advance)
  }

  func copied() -> Self {
    let copy = Self(bounds, fault: fault)
    for step in path { copy.perform(step) }
    return copy
  }

  var isOver: Bool { model.isComplete && model.executing.isEmpty && !model.workerIsOrdered }

  // MARK: Steps

  enum Action: UInt16 { case succeed, fail, ignore, abandon, startWorker, cancel }

  private static func step(_ action: Action, _ node: Int32 = 0) -> UInt16 { action.rawValue * 8 + UInt16(node) }

  func name(of step: UInt16) -> String { Action(rawValue: step / 8).map { "\($0) \(step % 8)" } ?? "\(step)" }

  func addSteps(to steps: inout ContiguousArray<UInt16>) -> Int {
    let start = steps.count
    for node in model.executing {
      steps.append(Self.step(.succeed, node))
      if decisions.isStopping { steps.append(Self.step(.abandon, node)) }
    }
    if model.workerIsOrdered { steps.append(Self.step(.startWorker)) }
    let certain = steps.count - start
    for node in model.executing {
      if failures > 0 { steps += [Self.step(.fail, node), Self.step(.ignore, node)] }
    }
    if cancellations > 0, !model.isComplete { steps.append(Self.step(.cancel)) }
    return certain
  }

  func perform(_ step: UInt16) {
    guard let action = Action(rawValue: step / 8) else { return }
    path.append(step)
    let node = Int32(step % 8)
    switch action {
    case .succeed: succeed(node)
    case .fail: stop(node, .failed)
    case .ignore: stop(node, .ignored)
    case .abandon:
      let advance = decisions.progress.nodeAbandoned()
      model.happened { $0.abandon(node) }
      follow(advance, asks: false)
    case .startWorker:
      let advance = decisions.workerStarted()
      model.happened { $0.startWorker() }
      follow(advance)
    case .cancel:
      cancellations -= 1
      let advance = decisions.progress.cancelled()
      model.happened { $0.stop() }
      follow(advance, asks: false)
    }
    if let objection = model.objections.first ?? decisions.contradictions.first, violation == nil {
      violation = Violation(invariant: .dependencies, message: objection)
    }
  }

  private func succeed(_ node: Int32) {
    if fault == .dependencyCountedTwice { _ = decisions.countdown.nodeSucceeded(node) }
    if fault == .nodeExecutedTwice { decisions.progress.nodePutBack(node) }
    let advance =
      fault == .successorForgotten
      ? decisions.progress.nodeSucceeded(releasing: GraphCountdown.Released()) : decisions.nodeSucceeded(node)
    model.happened { $0.settle(node, .succeeded) }
    follow(advance, finished: node)
  }

  private func stop(_ node: Int32, _ ending: GraphProgress.Ending) {
    failures -= 1
    var skipped: [GraphCountdown.Skipped] = []
    let (advance, isUnaccepted) = decisions.nodeStopped(node, ending, skipped: &skipped)
    let leaves = ending == .failed && model.reachesEnd(node)
    if isUnaccepted != leaves || advance.cancelsWorkers != (leaves && model.stopsAtFirstFailure && !model.isStopping) {
      model.object("node \(node) \(ending): the failure leaves the graph or not")
    }
    model.happened {
      $0.settle(node, ending)
      $0.skip(skipped, because: node, ending)
      if advance.cancelsWorkers { $0.stop() }
    }
    follow(advance, finished: node)
  }

  private func follow(_ advance: GraphProgress.Advance, asks: Bool = true, finished: Int32? = nil) {
    var advance = advance
    if fault == .graphWorkerLost { advance.addsWorker = false }
    model.follow(advance, asks: asks, finished: finished)
    // Another worker is needed, so the caller's task leaves its node to the workers.
    if isInCallersTask, advance.addsWorker {
      isInCallersTask = false
      guard advance.next >= 0 else { return }
      decisions.progress.nodePutBack(advance.next)
      model.happened { $0.giveBack(advance.next) }
    }
  }

  func check() {
    let isConsistent =
      decisions.executing == model.executing.count && decisions.isStopping == model.isStopping
      && decisions.workerIsStarting == model.workerIsOrdered && decisions.isComplete == model.isComplete
    if !isConsistent, violation == nil {
      violation = Violation(invariant: .dependencies, message: "\(decisions.executing) of \(model.executing) execute")
    }
  }

  func fingerprint() -> UInt64 {
    var hash = Fingerprint()
    for status in model.statuses {
      switch status {
      case .waiting: hash.combine(1)
      case .ready: hash.combine(2)
      case .executing: hash.combine(3)
      case .settled(let ending): hash.combine(ending == .succeeded ? 4 : ending == .failed ? 5 : 6)
      case .skipped(let ending): hash.combine(ending == .failed ? 7 : 8)
      case .abandoned: hash.combine(9)
      }
    }
    var ready = decisions.progress.ready
    while let node = ready.first() {
      ready.remove(node)
      hash.combine(UInt64(node) + 16)
    }
    var word = UInt64(failures) | UInt64(cancellations) << 6
    word |= (isInCallersTask ? 1 << 10 : 0) | (model.isStopping ? 1 << 11 : 0) | (model.workerIsOrdered ? 1 << 12 : 0)
    hash.combine(word)
    return hash.result
  }
}
