/// A depth-first search for an order of calls that explains all responses (Wing and Gong, *Testing and Verifying
/// Concurrent Objects*, JPDC 1993), which visits each state once.
struct LinearizationSearch<Specification: SequentialSpecification> {
  /// A state of the search: the number of calls of each task that have been put in order, and the model after them.
  private struct State: Hashable {
    var positions: [Int]
    var model: Specification.Model
  }

  private let specification: Specification
  private let strands: [[ProgramHistory<Specification.Command, Specification.Response>.Call]]
  private var visited: Set<State> = []

  init(
    _ specification: Specification, _ history: ProgramHistory<Specification.Command, Specification.Response>
  ) {
    self.specification = specification
    strands = history.strands
  }

  /// Returns whether an order exists.
  mutating func succeeds() -> Bool {
    var open = [State(positions: strands.map { _ in 0 }, model: specification.makeModel())]
    while let state = open.popLast() {
      if isComplete(state) { return true }
      for next in successors(of: state) where visited.insert(next).inserted { open.append(next) }
    }
    return false
  }

  private func isComplete(_ state: State) -> Bool {
    zip(state.positions, strands).allSatisfy { $0 == $1.count }
  }

  /// The states after each call that can come next: no other call ended before its beginning, and the model gives its
  /// response.
  private func successors(of state: State) -> [State] {
    let next = strands.indices.filter { state.positions[$0] < strands[$0].count }
    let firstEnd = next.map { strands[$0][state.positions[$0]].interval.upperBound }.min() ?? 0
    return next.compactMap { strand in
      let call = strands[strand][state.positions[strand]]
      guard call.interval.lowerBound <= firstEnd else { return nil }
      var following = state
      following.positions[strand] += 1
      let response = specification.respond(to: call.command, &following.model)
      return response == call.response ? following : nil
    }
  }
}
