import ProcedureKit

/// W3: a chain, in which each body adds one to the result of the previous one.
enum ChainWork {
  static let contestants = [
    Contestant(.floor) { units in
      Trial(units: units, expecting: units) {
        var last = Task {
          Tally.note()
          return 1
        }
        for _ in 1..<units {
          last = Task { [last] in
            Tally.note()
            return await last.value + 1
          }
        }
        return await last.value
      }
    },
    OperationGraph.contestant(mostUnits: 10_000, shape),
    DispatchGraph.contestant(shape),
    Contestant(.procedureKit("run")) { units in
      let queue = ProcedureQueue("chain")
      let graph = graph(units)
      return Trial(units: units, expecting: units) { try await queue.run(graph, input: 0) }
    },
    Contestant(.procedureKit("build and run")) { units in
      let queue = ProcedureQueue("chain")
      return Trial(units: units, expecting: units) { try await queue.run(graph(units), input: 0) }
    },
  ]

  @Sendable private static func shape(_ units: Int) -> (Shape, result: Int) {
    (Shape(inputs: (0..<units).map { $0 == 0 ? [] : [$0 - 1] }, increment: 1), units)
  }

  private static let increment = ProcedureTask("increment") { (number: Int) in
    Tally.note()
    return number + 1
  }

  private static func graph(_ units: Int) -> ProcedureGraph<Int, Int> {
    ProcedureGraph("chain") { (g, input: Node<Int>) in
      (0..<units).reduce(input) { last, _ in g.add(increment, from: last) }
    }
  }
}
