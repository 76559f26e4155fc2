/// Numbered nodes, each with its inputs, whose values it adds up; every number is larger than those of its inputs.
///
/// For the contestants that work with any shape. The floor and ProcedureKit write out the shapes.
struct Shape: Sendable {
  let inputs: [[Int]]
  /// The number that every node adds to the sum of its inputs.
  var increment = 0
  /// The value of a node without inputs.
  static let root = 1

  /// For each node, the nodes of which it is an input.
  var successors: [[Int]] {
    var successors = [[Int]](repeating: [], count: inputs.count)
    for (node, inputs) in inputs.enumerated() {
      for input in inputs { successors[input].append(node) }
    }
    return successors
  }
}
