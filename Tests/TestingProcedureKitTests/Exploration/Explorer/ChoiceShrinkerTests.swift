import Testing

@testable import TestingProcedureKit

@Suite struct ChoiceShrinkerTests {
  /// Shrinks `choices` while they fail, and returns the result and the number of candidates.
  private func shrink(_ choices: [Int], while fails: ([Int]) -> Bool) -> (choices: [Int], runs: Int) {
    var shrinker = ChoiceShrinker(failing: choices)
    var runs = 0
    while let candidate = shrinker.candidate {
      runs += 1
      if fails(candidate) { shrinker.candidateFailed(candidate) } else { shrinker.candidatePassed() }
    }
    return (shrinker.choices, runs)
  }

  @Test("Only the choices that matter remain", arguments: 0..<20 as Range<UInt64>)
  func necessary(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let length = 20 + generator.below(300)
    let choices = (0..<length).map { _ in 1 + generator.below(4) }
    let needed = Set((0..<3).map { _ in generator.below(length) })
    let result = shrink(choices) { tried in needed.allSatisfy { $0 < tried.count && tried[$0] == choices[$0] } }
    let expected = (0...(needed.max() ?? 0)).map { needed.contains($0) ? choices[$0] : 0 }
    #expect(result.choices == expected, "seed \(seed)")
    #expect(result.runs < 200, "seed \(seed)")
  }

  @Test("A failure that needs no choice is immediately reduced to no choices")
  func none() {
    let result = shrink([3, 1, 2, 0, 1]) { _ in true }
    #expect(result.choices.isEmpty)
    #expect(result.runs <= 3)
  }

  @Test("A failure that needs every choice is not changed, and the search ends", arguments: [0, 1, 2, 3, 8, 33])
  func all(length: Int) {
    let choices = [Int](repeating: 1, count: length)
    #expect(shrink(choices) { $0 == choices }.choices == choices)
  }
}
