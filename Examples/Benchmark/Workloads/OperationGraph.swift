import Foundation
import Synchronization

/// A graph that has an operation for each node of a ``Shape``.
struct OperationGraph {
  private final class Node: Operation, @unchecked Sendable {
    // The invariant that justifies `@unchecked Sendable`: all mutable state is atomic.
    let inputs: [Node]
    let increment: Int
    let value = Atomic(0)

    init(inputs: [Node], increment: Int) {
      self.inputs = inputs
      self.increment = increment
      super.init()
      for input in inputs { addDependency(input) }
    }

    override func main() {
      Tally.note()
      let sum = inputs.reduce(increment) { $0 &+ $1.value.load(ordering: .relaxed) }
      value.store(inputs.isEmpty ? Shape.root : sum, ordering: .relaxed)
    }
  }

  static func contestant(mostUnits: Int, _ shape: @escaping @Sendable (Int) -> (Shape, result: Int)) -> Contestant {
    Contestant(.operationQueue, mostUnits: mostUnits) { units in
      let (shape, result) = shape(units)
      return Trial(units: shape.inputs.count, expecting: result) { run(shape) }
    }
  }

  /// Executes all nodes, and returns the value of the last one.
  private static func run(_ shape: Shape) -> Int {
    var nodes: [Node] = []
    nodes.reserveCapacity(shape.inputs.count)
    for inputs in shape.inputs { nodes.append(Node(inputs: inputs.map { nodes[$0] }, increment: shape.increment)) }
    let queue = OperationQueue()
    for node in nodes { queue.addOperation(node) }
    queue.waitUntilAllOperationsAreFinished()
    return nodes[nodes.count - 1].value.load(ordering: .relaxed)
  }
}
