import Testing

@testable import TestingProcedureKit

@Suite struct ReplayCodeTests {
  @Test("Choices are written as digits, with runs abbreviated and trailing zeros omitted")
  func writing() {
    #expect(ReplayCode(seed: 36, choices: []).description == "pk2:10:")
    #expect(ReplayCode(seed: 0, choices: [0, 2, 2, 2, 2, 2, 1, 0, 0]).description == "pk2:0:02~5.1")
    #expect(ReplayCode(seed: 35, choices: [10, 35, 36, 100]).description == "pk2:z:az(36)(100)")
    #expect(ReplayCode(seed: 1, choices: [40, 40, 40, 40]).description == "pk2:1:(40)~4.")
  }

  @Test("Every sequence of choices can be written and parsed", arguments: 0..<50 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let bound = [2, 5, 36, 200][generator.below(4)]
    let choices = (0..<generator.below(300)).map { _ in generator.below(3) == 0 ? generator.below(bound) : 0 }
    let code = ReplayCode(seed: generator.next(), choices: choices)
    #expect(try ReplayCode(code.description) == code, "seed \(seed): \(code)")
  }

  @Test(
    "A string that is not a replay string is refused",
    arguments: ["", "pk2", "pk2:0", "pk1:0:1", "pk2:!:1", "pk2:0:1~", "pk2:0:1~x.", "pk2:0:(3", "pk2:0:-", "pk2:0:~3."])
  func refusing(text: String) {
    #expect(throws: ReplayCode.FormatError.self) { try ReplayCode(text) }
  }
}
