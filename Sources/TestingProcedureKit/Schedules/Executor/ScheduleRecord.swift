/// What happened in one schedule: which strand ran at each step, and each choice there was.
struct ScheduleRecord: Equatable {
  /// The strand that ran, at each step.
  private(set) var strands: [Int] = []

  /// The position that was chosen, at each step at which more than one job was ready.
  private(set) var choices: [Int] = []

  /// How many jobs were ready, at each of `choices`.
  private(set) var widths: [Int] = []

  /// A fingerprint of `strands` (64-bit FNV-1a), to tell different orders apart.
  private(set) var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325

  var steps: Int { strands.count }

  mutating func didChoose(_ index: Int, of count: Int, strand: Int) {
    if count > 1 {
      choices.append(index)
      widths.append(count)
    }
    strands.append(strand)
    fingerprint = (fingerprint ^ UInt64(truncatingIfNeeded: strand)) &* 0x100_0000_01B3
  }
}
