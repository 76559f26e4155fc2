/// A generated program, by the seed of the exploration and its number in the exploration, written `seed:number`.
struct GeneratedProgram: Sendable, Equatable, LosslessStringConvertible {
  var seed: UInt64
  var number: Int

  init(seed: UInt64, number: Int) {
    (self.seed, self.number) = (seed, number)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let seed = UInt64(parts[0]), let number = Int(parts[1]), number >= 0 else { return nil }
    self.init(seed: seed, number: number)
  }

  var description: String { "\(seed):\(number)" }
}
