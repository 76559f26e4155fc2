/// The record of one schedule: the strand at each step, and each choice.
struct ScheduleRecord: Equatable {
  /// The strand at each step.
  private(set) var strands: [Int] = []

  /// The chosen position, at each step with several ready jobs.
  private(set) var choices: [Int] = []

  /// The number of ready jobs at each of `choices`.
  private(set) var widths: [Int] = []

  /// A fingerprint of `strands` (64-bit FNV-1a), for distinguishing orders.
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
