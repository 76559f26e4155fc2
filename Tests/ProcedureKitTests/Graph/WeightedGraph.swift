import ProcedureKit
import TestSupport
import TestingProcedureKit

/// A graph whose nodes take known times.
struct WeightedGraph: Sendable {
  /// What is known about the durations when the graph runs.
  enum Knowledge {
    /// Every node is expected to take no time, so that nodes start in the order in which they become ready.
    case orderOfReadiness
    /// Nothing is known, so that depth counts.
    case depth
    /// All durations are known.
    case durations
  }

  /// The durations in milliseconds.
  private(set) var durations: [Int] = []
  /// The dependencies of each node, which have lower numbers.
  private(set) var dependencies: [[Int]] = []

  /// Creates a graph from text such as `20 30:0 10:0,1`.
  init(text: String) {
    for word in text.split(separator: " ") {
      let parts = word.split(separator: ":")
      durations.append(Int(parts[0]) ?? 0)
      dependencies.append(parts.dropFirst().flatMap { $0.split(separator: ",").compactMap { Int($0) } })
    }
  }

  /// Creates a random graph with 40 to 200 nodes that have up to three dependencies each, near or far. In a third of the graphs, most nodes
  /// are short and a few are long.
  init(using random: inout SeededGenerator) {
    let (count, kind) = (Int.random(in: 40...200, using: &random), Int.random(in: 0...2, using: &random))
    for node in 0..<count {
      let nearest = Bool.random(using: &random) ? max(0, node - 20) : 0
      let edges = node == 0 ? 0 : Int.random(in: 0...3, using: &random)
      dependencies.append(Set((0..<edges).map { _ in Int.random(in: nearest..<node, using: &random) }).sorted())
      let isLong = kind == 2 && random.chance(percent: 10)
      durations.append(Int.random(in: 1...1_000, using: &random) * (isLong ? 20 : 1))
    }
  }

  /// Returns how long the graph takes on a queue of the given width, in virtual time.
  func makespan(width: Int, _ knowledge: Knowledge) async throws -> Duration {
    let spans = Record<Duration>()
    try await exploreSchedules(1) { env in
      let (queue, clock) = (env.makeQueue(maxConcurrentProcedures: width), env.clock)
      let graph = ProcedureGraph("weighted", returning: Void.self) { g in
        var nodes: [Node<Void>] = []
        for (number, duration) in durations.enumerated() {
          let task = ProcedureTask("\(number)") { try await clock.sleep(for: .milliseconds(duration)) }
          nodes.append(g.add(task, after: dependencies[number].map { nodes[$0] }))
        }
      }
      let expected = durations.enumerated().map {
        ("\($0)", knowledge == .durations ? Duration.milliseconds($1) : .zero)
      }
      let start = clock.now
      try await queue.run(
        knowledge == .depth ? graph : graph.expected(durations: Dictionary(uniqueKeysWithValues: expected)))
      spans.append(start.duration(to: clock.now))
      await queue.shutDown()
    }
    return spans.values[0]
  }
}
