@testable import ProcedureKit

/// A model of a run of a graph, node by node and edge by edge, without the machine's bookkeeping.
///
/// The model follows the machine, and objects to every step that is not allowed.
struct GraphModel {
  typealias Edge = GraphShape.Edge

  enum Status: Equatable {
    case waiting
    /// The node has been ready since the given event.
    case ready(since: Int)
    case executing
    case settled(GraphProgress.Ending)
    case skipped(GraphProgress.Ending)
    case abandoned
  }

  let edges: [Edge]
  let priorities: [UInt8]
  let ranks: [Int32]
  let limit: Int
  let stopsAtFirstFailure: Bool
  let acceptedOutput: Int32
  private(set) var statuses: [Status]
  private(set) var isStopping = false
  private(set) var workerIsOrdered = false
  private(set) var objections: [String] = []
  private var event = 0

  init(
    count: Int, edges: [Edge], priorities: [UInt8], ranks: [Int32] = [], limit: Int, stopsAtFirstFailure: Bool,
    acceptedOutput: Int32
  ) {
    self.edges = edges
    self.priorities = priorities
    self.ranks = ranks.isEmpty ? Array(repeating: 0, count: count) : ranks
    self.limit = limit
    self.stopsAtFirstFailure = stopsAtFirstFailure
    self.acceptedOutput = acceptedOutput
    statuses = Array(repeating: .waiting, count: count)
  }

  var nodes: Range<Int32> { 0..<Int32(statuses.count) }
  var executing: [Int32] { nodes.filter { statuses[Int($0)] == .executing } }
  var unsettled: Int { nodes.count { !isSettled($0) } }
  var isComplete: Bool { unsettled == 0 || (isStopping && executing.isEmpty) }

  private var ready: [Int32] { nodes.filter { since($0) != nil } }

  private func since(_ node: Int32) -> Int? {
    if case .ready(let event) = statuses[Int(node)] { event } else { nil }
  }

  private func isSettled(_ node: Int32) -> Bool {
    switch statuses[Int(node)] {
    case .settled, .skipped: true
    case .waiting, .ready, .executing, .abandoned: false
    }
  }

  /// Returns whether a failure of this node reaches a node without dependents, and no node on the way accepts the failure.
  func reachesEnd(_ node: Int32) -> Bool {
    let outgoing = edges.filter { $0.from == node }
    if outgoing.isEmpty { return node != acceptedOutput }
    return outgoing.contains { !$0.acceptsFailure && reachesEnd($0.to) }
  }

  // MARK: What happens

  mutating func happened(_ changes: (inout GraphModel) -> Void) {
    event += 1
    changes(&self)
    for node in nodes where statuses[Int(node)] == .waiting && mayExecute(node) {
      statuses[Int(node)] = .ready(since: event)
    }
  }

  private func mayExecute(_ node: Int32) -> Bool {
    edges.allSatisfy { edge in
      edge.to != node || statuses[Int(edge.from)] == .settled(.succeeded)
        || (edge.acceptsFailure && isSettled(edge.from))
    }
  }

  mutating func settle(_ node: Int32, _ ending: GraphProgress.Ending) {
    if statuses[Int(node)] != .executing { objections.append("node \(node) settled as \(statuses[Int(node)])") }
    statuses[Int(node)] = .settled(ending)
  }

  /// Applies the machine's decision about the nodes that are not executed because another node did not succeed.
  mutating func skip(_ skipped: [GraphCountdown.Skipped], because node: Int32, _ ending: GraphProgress.Ending) {
    var reached: [Int32] = [node]
    for skip in skipped {
      let isEffect = edges.contains { $0.from == skip.cause && $0.to == skip.node && !$0.acceptsFailure }
      if !isEffect || !reached.contains(skip.cause) { objections.append("\(skip) has no such cause") }
      if skip.ending != ending { objections.append("\(skip) ends otherwise than its cause") }
      if statuses[Int(skip.node)] != .waiting { objections.append("\(skip) was \(statuses[Int(skip.node)])") }
      statuses[Int(skip.node)] = .skipped(ending)
      reached.append(skip.node)
    }
    for edge in edges where reached.contains(edge.from) && !edge.acceptsFailure && !isSettled(edge.to) {
      objections.append("node \(edge.to) was not skipped, which requires \(edge.from)")
    }
  }

  mutating func object(_ objection: String) { objections.append(objection) }

  mutating func abandon(_ node: Int32) { statuses[Int(node)] = .abandoned }

  mutating func stop() { isStopping = true }

  mutating func startWorker() { workerIsOrdered = false }

  mutating func giveBack(_ node: Int32) { statuses[Int(node)] = .ready(since: 0) }

  // MARK: What follows

  /// Checks the machine's next step, and applies it to the model.
  ///
  /// - Parameters:
  ///   - advance: The machine's next step.
  ///   - asks: Whether a worker is asking for a node.
  ///   - finished: The node that the worker has executed.
  mutating func follow(_ advance: GraphProgress.Advance, asks: Bool, finished: Int32? = nil) {
    if advance.next >= 0 { start(advance.next, after: finished) }
    let isWorkLeft = !isStopping && executing.count < limit && !ready.isEmpty
    if advance.next < 0, isWorkLeft, asks { objections.append("a worker ended, and \(ready) is ready") }
    if advance.addsWorker {
      if workerIsOrdered { objections.append("a second worker was ordered") }
      if !isWorkLeft { objections.append("a worker was ordered for nothing") }
      workerIsOrdered = true
    }
    if isWorkLeft, !workerIsOrdered { objections.append("no worker will execute \(ready)") }
    if advance.isComplete != isComplete { objections.append("complete: \(isComplete), but not for the machine") }
  }

  private mutating func start(_ node: Int32, after finished: Int32?) {
    if isStopping { objections.append("node \(node) was started after the end") }
    if executing.count >= limit { objections.append("node \(node) is one more than \(limit)") }
    guard let since = since(node) else { return objections.append("node \(node) was \(statuses[Int(node)])") }
    let rank = ranks[Int(node)]
    let released = ready.filter { other in
      self.since(other) == event && edges.contains { $0.from == finished && $0.to == other }
    }
    // A worker continues with the first of the nodes that its node has made ready, even if another ready node has a lower rank.
    let isSuccessor = released.contains(node) && released.allSatisfy { rank <= ranks[Int($0)] }
    let comesFirst = ready.allSatisfy { other in
      (priorities[Int(other)], -ranks[Int(other)], -(self.since(other) ?? 0)) <= (priorities[Int(node)], -rank, -since)
    }
    let hasPriorities = Set(priorities).count > 1
    if !comesFirst, hasPriorities || !isSuccessor { objections.append("node \(node) was not next in \(ready)") }
    statuses[Int(node)] = .executing
  }
}
