/// A graph of numbered nodes, each of which adds the values of its inputs. A node's number is larger than the numbers of its inputs.
///
/// Shapes are used by the contestants that can execute any graph. The other contestants have separate code for each graph.
struct Shape: Sendable {
  let inputs: [[Int]]
  /// The number that every node adds to the sum of its inputs.
  var increment = 0
  /// The value of a node without inputs.
  static let root = 1

  /// For each node, the nodes that have it as an input.
  var successors: [[Int]] {
    var successors = [[Int]](repeating: [], count: inputs.count)
    for (node, inputs) in inputs.enumerated() {
      for input in inputs { successors[input].append(node) }
    }
    return successors
  }
}
