import TestSupport
import Testing

@testable import ProcedureKit

@Suite struct GraphProgressScriptTests {
  @Test(
    "Random graphs with random workers and outcomes agree with a naive model",
    arguments: 0..<8)
  func scripts(_ block: Int) {
    let count = TestDepth.count(400)
    for seed in block * count..<(block + 1) * count {
      var script = GraphScript(seed: UInt64(seed))
      script.run()
      guard let objection = script.model.objections.first else { continue }
      Issue.record("seed \(seed): \(objection)\n\(script)")
      return
    }
  }
}
