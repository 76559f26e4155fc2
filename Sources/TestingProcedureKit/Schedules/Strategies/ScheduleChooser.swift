/// Decides which of the ready jobs runs next.
protocol ScheduleChooser: Sendable {
  /// The position, in `strands`, of the job to run as the `step`-th of the schedule.
  ///
  /// `strands` has the strand of each ready job, in the order in which they got ready, and is never empty.
  mutating func choose(among strands: [Int], step: Int) -> Int
}

/// Always the job that has been ready for longest.
struct FirstChooser: ScheduleChooser {
  func choose(among strands: [Int], step: Int) -> Int { 0 }
}

/// Any ready job, each with the same probability.
struct RandomChooser: ScheduleChooser {
  var generator: SeededGenerator

  mutating func choose(among strands: [Int], step: Int) -> Int {
    strands.count == 1 ? 0 : generator.below(strands.count)
  }
}

/// The strands in turn, each for one job.
struct RoundRobinChooser: ScheduleChooser {
  private var last = -1

  mutating func choose(among strands: [Int], step: Int) -> Int {
    let later = strands.indices.filter { strands[$0] > last }
    let candidates = later.isEmpty ? Array(strands.indices) : later
    let index = candidates.min { strands[$0] < strands[$1] } ?? 0
    last = strands[index]
    return index
  }
}

/// Recorded choices; where they end, always the job that has been ready for longest.
struct ReplayChooser: ScheduleChooser {
  private var remaining: ArraySlice<Int>

  init(choices: [Int]) {
    remaining = choices[...]
  }

  mutating func choose(among strands: [Int], step: Int) -> Int {
    guard strands.count > 1, let choice = remaining.popFirst() else { return 0 }
    return min(choice, strands.count - 1)
  }
}
