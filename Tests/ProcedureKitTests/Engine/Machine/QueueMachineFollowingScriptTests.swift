import TestSupport
import Testing

@testable import ProcedureKit

/// Runs most of which want the same alone, so that they follow one that holds it.
@Suite struct QueueMachineFollowingScriptTests {
  private static let (blocks, scriptsInEach, steps) = (8, TestDepth.count(250), 250)

  @Test(
    "R1, R2, R3: in random scripts of runs that exclude each other each has its turn, alone, in order, and comes to its end",
    arguments: 0..<blocks)
  func scripts(_ block: Int) {
    var ways: [QueueScript.Way: Int] = [:]
    for seed in UInt64(block * Self.scriptsInEach)..<UInt64((block + 1) * Self.scriptsInEach) {
      let script = QueueScript(seed: seed, excludes: true)
      let objection = script.run(steps: Self.steps)
      ways.merge(script.ways, uniquingKeysWith: +)
      guard let objection else { continue }
      let again = QueueScript(seed: seed, excludes: true, isTraced: true)
      _ = again.run(steps: Self.steps)
      Issue.record("seed \(seed): \(objection)\n\(again.story)")
      return
    }
    for way in QueueScript.Way.allCases where TestDepth.isAtLeastGate {
      #expect(ways[way, default: 0] > 0, "\(way) never comes to pass in the scripts of block \(block)")
    }
  }
}
