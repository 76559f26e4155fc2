/// Numbered nodes, each with the nodes whose values it adds up; every number is larger than those of its inputs.
///
/// For the contestants that are the same whatever the shape. The floor and ProcedureKit write out theirs.
struct Shape: Sendable {
  let inputs: [[Int]]
  /// What every node adds to the sum of its inputs.
  var increment = 0
  /// The value of a node without inputs.
  static let root = 1

  /// For each node, those of which it is an input.
  var successors: [[Int]] {
    var successors = [[Int]](repeating: [], count: inputs.count)
    for (node, inputs) in inputs.enumerated() {
      for input in inputs { successors[input].append(node) }
    }
    return successors
  }
}
