import TestSupport
import Testing

@testable import ProcedureKit

/// Checks the scheduler's machines in every state that they can reach within the bounds of ``ModelSpaces``.
@Suite(.timeLimit(.atDepth)) struct ModelCheckerTests {
  @Test("Every invariant holds in every reachable state of the machine, the claims, the room and the graphs")
  func everyState() async {
    let start = ContinuousClock.now
    let counts = await withTaskGroup(of: (states: Int, transitions: Int).self) { group in
      for (name, bounds) in ModelSpaces.queues { group.addTask { Self.search(QueueWorld(bounds), name) } }
      for bounds in ModelSpaces.rooms { group.addTask { Self.search(RoomWorld(bounds), "\(bounds)") } }
      group.addTask {
        ModelSpaces.graphs.reduce(into: (0, 0)) { sum, bounds in
          let count = Self.search(GraphWorld(bounds), "\(bounds)")
          sum = (sum.0 + count.states, sum.1 + count.transitions)
        }
      }
      return await group.reduce(into: (states: 0, transitions: 0)) { sum, count in
        sum = (sum.states + count.states, sum.transitions + count.transitions)
      }
    }
    #expect(counts.states >= ModelSpaces.leastStates)
    // The gate repeats this line in its summary.
    print(
      "model checker: \(counts.states) states, \(counts.transitions) steps, \(Invariant.allCases.count) invariants,"
        + " \((ContinuousClock.now - start).components.seconds) s")
  }

  private static func search(_ world: some ModelWorld, _ name: String) -> (states: Int, transitions: Int) {
    var search = StateSearch()
    if let violation = search.run(from: world) { Issue.record("\(name): \(violation)") }
    #expect(search.finalCount > 0, "\(name)")
    return (search.stateCount, search.transitionCount)
  }

  @Test("A planted fault of a machine or a driver violates an invariant", arguments: PlantedFault.allCases)
  func plantedFaults(_ fault: PlantedFault) {
    var search = StateSearch()
    let (violation, invariant) =
      switch fault.space {
      case .queue(let bounds, let invariant): (search.run(from: QueueWorld(bounds, fault: fault)), invariant)
      case .room(let bounds, let invariant): (search.run(from: RoomWorld(bounds, fault: fault)), invariant)
      case .graph(let bounds, let invariant): (search.run(from: GraphWorld(bounds, fault: fault)), invariant)
      }
    #expect(
      violation?.invariant == invariant,
      "\(fault), \(search.stateCount) states: \(violation?.description ?? "not found")")
  }

  @Test("The hash of a state does not depend on the names of keys and resources")
  func symmetry() {
    let (one, other) = (RunKind(key: 1, resources: 1), RunKind(key: 2, resources: 2))
    let worlds = [[0, 1], [1, 0], [0, 0]].map { kinds in
      let world = QueueWorld(QueueBounds(kinds: [one, other], takesTurns: true, limitPerKey: 1))
      for kind in kinds { world.perform(QueueWorld.admission(of: kind)) }
      return world.fingerprint()
    }
    #expect(worlds[0] == worlds[1] && worlds[0] != worlds[2])
  }

  @Test("The guide How it works contains each invariant")
  func guide() throws {
    let page = try Checkout.text(of: "Sources/ProcedureKit/ProcedureKit.docc/HowItWorks.md")
    let words = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for invariant in Invariant.allCases {
      let isListed = words.contains(invariant.rawValue)
      #expect(isListed, "\(invariant.rawValue)")
    }
  }
}
