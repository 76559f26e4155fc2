import Testing

@testable import TestingProcedureKit

@Suite struct SeededGeneratorTests {
  @Test("The generator returns the published numbers of SplitMix64")
  func reference() {
    var generator = SeededGenerator(seed: 1_234_567)
    let numbers = (0..<5).map { _ in generator.next() }
    #expect(
      numbers == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
      ])
  }

  @Test("Numbers below a bound take every value and do not exceed it")
  func below() {
    var generator = SeededGenerator(seed: 5)
    var seen = [Int](repeating: 0, count: 7)
    for _ in 0..<7_000 { seen[generator.below(7)] += 1 }
    #expect(seen.allSatisfy { (800...1_200).contains($0) }, "\(seen)")
  }

  @Test("The sequences of one seed differ from each other and from those of its neighbours")
  func independentSeeds() {
    let seeds = (0..<20).flatMap { seed in (0..<50).map { SeededGenerator.seed(seed, $0) } }
    #expect(Set(seeds).count == 1_000)
  }
}
