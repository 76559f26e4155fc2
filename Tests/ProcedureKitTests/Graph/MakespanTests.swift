import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// How long graphs take on queues of limited width, in virtual time, compared with the order in which nodes become ready.
@Suite(.timeLimit(.minutes(10))) struct MakespanTests {
  @Test(
    "With known durations, a published graph that is skewed takes at least 10 % less time, and no graph takes 2 % more",
    arguments: PublishedGraphs.all.keys.sorted())
  func published(name: String) async throws {
    let graph = try #require(PublishedGraphs.all[name])
    var changes: [Int: Double] = [:]
    for width in [2, 4, 8, 16] {
      let before = try await graph.makespan(width: width, .orderOfReadiness)
      changes[width] = try await graph.makespan(width: width, .durations) / before - 1
    }
    let text = changes.sorted { $0.key < $1.key }.map { "\($0.key): \(Int(($0.value * 1_000).rounded()))" }
    #expect(changes.values.allSatisfy { $0 <= 0.02 }, "\(name), in thousandths: \(text)")
    // The whole firmware consists of hundreds of similar commands, so its critical path matters only on a wide queue.
    let least = name == "firmware" ? -0.07 : -0.1
    #expect(changes.values.min() ?? 0 <= least, "\(name), in thousandths: \(text)")
  }

  @Test("With known durations, none of 100 random graphs takes 2 % more time, and skewed ones take at least 10 % less")
  func random() async throws {
    var (changes, depthChanges): ([Double], [Double]) = ([], [])
    let count = TestDepth.isAtLeastGate ? 100 : 25
    for seed in 0..<UInt64(count) {
      var random = SeededGenerator(seed: seed)
      let (graph, width) = (WeightedGraph(using: &random), [2, 4, 8, 16].randomElement(using: &random) ?? 2)
      let before = try await graph.makespan(width: width, .orderOfReadiness)
      let change = try await graph.makespan(width: width, .durations) / before - 1
      #expect(change <= 0.02, "seed \(seed), width \(width)")
      changes.append(change)
      depthChanges.append(try await graph.makespan(width: width, .depth) / before - 1)
    }
    let shorter = changes.count { $0 <= -0.1 }
    #expect(shorter >= count / 5, "\(shorter) graphs take at least 10 % less time")
    let (mean, depthMean) = (changes.reduce(0, +) / Double(count), depthChanges.reduce(0, +) / Double(count))
    #expect(mean <= -0.05 && depthMean <= -0.03, "\(mean) with durations, \(depthMean) with depth")
  }
}
