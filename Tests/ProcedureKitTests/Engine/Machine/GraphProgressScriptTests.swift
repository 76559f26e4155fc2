import Testing

@testable import ProcedureKit

@Suite struct GraphProgressScriptTests {
  @Test(
    "D1, D4: in random graphs, run by random workers with random outcomes, nothing happens that a naive model objects to",
    arguments: 0..<8)
  func scripts(_ block: Int) {
    for seed in block * 400..<(block + 1) * 400 {
      var script = GraphScript(seed: UInt64(seed))
      script.run()
      guard let objection = script.model.objections.first else { continue }
      Issue.record("seed \(seed): \(objection)\n\(script)")
      return
    }
  }
}
