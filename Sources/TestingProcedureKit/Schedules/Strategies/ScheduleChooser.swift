/// The choice of the next job in a schedule.
protocol ScheduleChooser: Sendable {
  /// Returns the position in `strands` of the job to run at `step`.
  ///
  /// `strands` has the strand of each ready job, in the order of getting ready, and is never empty.
  mutating func choose(among strands: [Int], step: Int) -> Int
}

/// A chooser of the job that has been ready for the longest time.
struct FirstChooser: ScheduleChooser {
  func choose(among strands: [Int], step: Int) -> Int { 0 }
}

/// A chooser of any ready job, with equal probability.
struct RandomChooser: ScheduleChooser {
  var generator: SeededGenerator

  mutating func choose(among strands: [Int], step: Int) -> Int {
    strands.count == 1 ? 0 : generator.below(strands.count)
  }
}

/// A chooser that takes turns between the strands, one job each.
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

/// A chooser that follows recorded choices, and then takes the job that has been ready for the longest time.
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
