import TestSupport
import Testing

@testable import ProcedureKit

@Suite struct QueueMachineScriptTests {
  private static let (blocks, scriptsInEach, steps) = (8, TestDepth.count(300), 150)

  @Test(
    "C1, C2, L1, Q1, Q2, Q3, Q4: in random scripts of events nothing happens that a naive model objects to",
    arguments: 0..<blocks)
  func scripts(_ block: Int) {
    for seed in UInt64(block * Self.scriptsInEach)..<UInt64((block + 1) * Self.scriptsInEach) {
      guard let objection = QueueScript(seed: seed).run(steps: Self.steps) else { continue }
      let again = QueueScript(seed: seed, isTraced: true)
      _ = again.run(steps: Self.steps)
      Issue.record("seed \(seed): \(objection)\n\(again.story)")
      return
    }
  }
}
