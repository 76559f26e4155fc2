import ProcedureKit

/// W5: a binary tree in which every node adds the values of two others, from the leaves to the root.
enum TreeWork {
  static let contestants = [
    Contestant(.floor) { units in
      trial(units) { leaves in await sum(leaves).value }
    },
    OperationGraph.contestant(mostUnits: 2_047, shape),
    DispatchGraph.contestant(shape),
    Contestant(.procedureKit("run")) { units in
      let queue = ProcedureQueue("tree")
      let graph = graph(leaves(units))
      return trial(units) { _ in try await queue.run(graph) }
    },
  ]

  private static func leaves(_ units: Int) -> Int {
    let largest = (units + 1) / 2
    return 1 << (Int.bitWidth - 1 - largest.leadingZeroBitCount)
  }

  private static func trial(_ units: Int, _ work: @escaping @Sendable (Int) async throws -> Int) -> Trial {
    let leaves = leaves(units)
    return Trial(units: 2 * leaves - 1, expecting: leaves) { try await work(leaves) }
  }

  private static func sum(_ leaves: Int) -> Task<Int, Never> {
    guard leaves > 1 else {
      return Task {
        Tally.note()
        return Shape.root
      }
    }
    let (left, right) = (sum(leaves / 2), sum(leaves / 2))
    return Task {
      Tally.note()
      return await left.value &+ right.value
    }
  }

  /// Returns the tree, level by level, from the leaves to the root.
  @Sendable private static func shape(_ units: Int) -> (Shape, result: Int) {
    let leaves = leaves(units)
    let inputs = (0..<2 * leaves - 1).map { node in
      node < leaves ? [] : [2 * (node - leaves), 2 * (node - leaves) + 1]
    }
    return (Shape(inputs: inputs), leaves)
  }

  private static let leaf = ProcedureTask("leaf") {
    Tally.note()
    return Shape.root
  }

  private static func graph(_ leaves: Int) -> ProcedureGraph<Void, Int> {
    ProcedureGraph("tree") { g in
      var level = (0..<leaves).map { _ in g.add(leaf) }
      while level.count > 1 {
        level = stride(from: 0, to: level.count, by: 2).map { index in
          g.add("sum", from: level[index], level[index + 1]) { left, right in
            Tally.note()
            return left &+ right
          }
        }
      }
      return level[0]
    }
  }
}
