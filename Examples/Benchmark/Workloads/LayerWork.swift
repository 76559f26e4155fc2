import ProcedureKit

/// W4: layers of nodes, in which every node adds the values of three nodes of the previous layer. The number of layers equals the number of
/// nodes in a layer.
enum LayerWork {
  static let contestants = [
    Contestant(.floor) { units in
      trial(units) { side in
        var layer = (0..<side).map { _ in
          Task {
            Tally.note()
            return Shape.root
          }
        }
        for _ in 1..<side {
          layer = (0..<side).map { index in
            let (a, b, c) = (layer[index], layer[(index + 1) % side], layer[(index + 2) % side])
            return Task {
              Tally.note()
              return await a.value &+ b.value &+ c.value
            }
          }
        }
        var first = 0
        for task in layer.reversed() { first = await task.value }
        return first
      }
    },
    OperationGraph.contestant(mostUnits: 10_000, shape),
    DispatchGraph.contestant(shape),
    Contestant(.procedureKit("run")) { units in
      let queue = ProcedureQueue("layers")
      let graph = graph(side(units))
      return trial(units) { _ in try await queue.run(graph, input: 0) }
    },
    Contestant(.procedureKit("build and run")) { units in
      let queue = ProcedureQueue("layers")
      return trial(units) { side in try await queue.run(graph(side), input: 0) }
    },
  ]

  private static func side(_ units: Int) -> Int {
    Int(Double(units).squareRoot())
  }

  private static func trial(_ units: Int, _ work: @escaping @Sendable (Int) async throws -> Int) -> Trial {
    let side = side(units)
    return Trial(units: side * side, expecting: result(side)) { try await work(side) }
  }

  private static func result(_ side: Int) -> Int {
    (1..<side).reduce(Shape.root) { value, _ in value &* 3 }
  }

  @Sendable private static func shape(_ units: Int) -> (Shape, result: Int) {
    let side = side(units)
    let inputs = (0..<side * side).map { node -> [Int] in
      let (layer, index) = node.quotientAndRemainder(dividingBy: side)
      return layer == 0 ? [] : (0...2).map { (layer - 1) * side + (index + $0) % side }
    }
    return (Shape(inputs: inputs), result(side))
  }

  private static let root = ProcedureTask("root") { (number: Int) in
    Tally.note()
    return number + Shape.root
  }

  private static func graph(_ side: Int) -> ProcedureGraph<Int, Int> {
    ProcedureGraph("layers") { (g, input: Node<Int>) in
      var layer = (0..<side).map { _ in g.add(root, from: input) }
      for _ in 1..<side {
        layer = (0..<side).map { index in
          g.add("sum", from: layer[index], layer[(index + 1) % side], layer[(index + 2) % side]) { a, b, c in
            Tally.note()
            return a &+ b &+ c
          }
        }
      }
      return layer[0]
    }
  }
}
