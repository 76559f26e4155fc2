import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite struct DurationScalingTests {
  @Test("Durations are multiplied exactly, to the attosecond, and saturate")
  func scaling() {
    #expect(Duration.milliseconds(100).scaled(by: 3) == .milliseconds(300))
    #expect(Duration.seconds(10).scaled(by: 1.5) == .seconds(15))
    #expect(Duration(secondsComponent: 0, attosecondsComponent: 7).scaled(by: 1.5).attoseconds == 11)
    #expect(Duration.milliseconds(-100).scaled(by: -3) == .milliseconds(300))
    #expect(Duration.seconds(1).scaled(by: -1) == .zero)
    #expect(Duration.seconds(1).scaled(by: .nan) == .zero)
    #expect(Duration.seconds(1).scaled(by: .infinity) == .longest)
    #expect(Duration.longest.scaled(by: 2) == .longest)
  }

  @Test("A product equals the rounded product of 128-bit numbers")
  func precision() {
    for seed in 0..<UInt64(TestDepth.count(500)) {
      var random = SeededGenerator(seed: seed)
      let longest = Int64(1) << Int64.random(in: 0...62, using: &random)
      let duration = Duration.nanoseconds(Int64.random(in: 0...longest, using: &random))
      let factor = Double.random(in: 0...2, using: &random)
      let product = (Double(duration.attoseconds) * factor).rounded()
      guard product < 9e27 else { continue }
      // The sum of seconds and attoseconds is rounded once more.
      let difference = abs(Double(duration.scaled(by: factor).attoseconds - Int128(product)))
      #expect(difference <= product * 1e-15 + 1, "seed \(seed)")
    }
  }
}
