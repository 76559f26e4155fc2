import TestSupport
import Testing

@testable import ProcedureKit

@Suite struct ResourceLedgerScriptTests {
  private static let (blocks, scriptsInEach, steps) = (4, TestDepth.count(400), 30)

  @Test(
    "R1, R3, R4: in random scripts of claims and ends nothing happens that a naive model objects to",
    arguments: 0..<blocks)
  func scripts(_ block: Int) {
    var tally: [String: Int] = [:]
    for seed in UInt64(block * Self.scriptsInEach)..<UInt64((block + 1) * Self.scriptsInEach) {
      let script = LedgerScript(seed: seed)
      if let objection = script.run(steps: Self.steps) {
        Issue.record("seed \(seed): \(objection)\n\(script.story)")
        return
      }
      tally.merge(script.tally, uniquingKeysWith: +)
    }
    for rare in ["circle of 1", "circle of 2", "await"] where TestDepth.isAtLeastGate {
      #expect(tally[rare] != nil, "\(rare) has not occurred: \(tally)")
    }
  }
}
