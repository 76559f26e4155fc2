import Dispatch
import Synchronization

/// A graph that has a block for each node of a ``Shape``. A node's block is dispatched by whichever of its inputs finishes last.
final class DispatchGraph: Sendable {
  private final class Node: Sendable {
    let missing = Atomic(0)
    let value = Atomic(0)
  }

  private let shape: Shape
  private let nodes: [Node]
  private let successors: [[Int]]
  private let roots: [Int]
  private let queue = DispatchQueue(label: "graph", attributes: .concurrent)
  private let group = DispatchGroup()

  private init(_ shape: Shape) {
    self.shape = shape
    nodes = shape.inputs.map { _ in Node() }
    successors = shape.successors
    roots = shape.inputs.indices.filter { shape.inputs[$0].isEmpty }
  }

  static func contestant(_ shape: @escaping @Sendable (Int) -> (Shape, result: Int)) -> Contestant {
    Contestant(.dispatch) { units in
      let (shape, result) = shape(units)
      let graph = DispatchGraph(shape)
      return Trial(units: shape.inputs.count, expecting: result) { graph.run() }
    }
  }

  /// Executes all nodes, and returns the value of the last one.
  private func run() -> Int {
    for (node, inputs) in zip(nodes, shape.inputs) {
      node.missing.store(inputs.count, ordering: .relaxed)
      node.value.store(inputs.isEmpty ? Shape.root : shape.increment, ordering: .relaxed)
    }
    for node in roots { dispatch(node) }
    group.wait()
    return nodes[nodes.count - 1].value.load(ordering: .relaxed)
  }

  private func dispatch(_ node: Int) {
    queue.async(group: group) { self.execute(node) }
  }

  private func execute(_ node: Int) {
    Tally.note()
    let value = nodes[node].value.load(ordering: .relaxed)
    for target in successors[node] {
      nodes[target].value.wrappingAdd(value, ordering: .relaxed)
      let left = nodes[target].missing.subtract(1, ordering: .acquiringAndReleasing).newValue
      if left == 0 { dispatch(target) }
    }
  }
}
