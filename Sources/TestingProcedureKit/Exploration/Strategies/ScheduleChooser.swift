/// The choice of the next job in a schedule.
protocol ScheduleChooser: Sendable {
  /// Returns the position in `strands` of the job to run at `step`.
  ///
  /// `strands` has the strand of each ready job, in the order of getting ready, and is never empty.
  mutating func choose(among strands: [Int], step: Int) -> Int

  /// Chooses whether the strand `running` is overtaken, which has just made another strand ready.
  ///
  /// Returns `0` if the strand goes on, otherwise the position in `strands` of the overtaking job plus one. `strands` is
  /// empty if the wake is no choice.
  mutating func chooseAtWake(running: Int, among strands: [Int], step: Int) -> Int

  /// Learns that `strand` seems to wait in a loop for another strand.
  mutating func didGiveWay(_ strand: Int)
}

extension ScheduleChooser {
  func didGiveWay(_ strand: Int) {}

  func chooseAtWake(running: Int, among strands: [Int], step: Int) -> Int { 0 }
}

/// A chooser of the first job: of the last strand if it can go on, otherwise of the longest wait.
struct FirstChooser: ScheduleChooser {
  func choose(among strands: [Int], step: Int) -> Int { 0 }
}

/// A chooser of any ready job, with equal probability. At a wake, the running job mostly goes on.
///
/// Each schedule has its own probability of overtaking: some bugs need many overtaken wakers, others long stretches
/// without one.
struct RandomChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// One of so many wakers is overtaken; `0` stands for none.
  private let overtaking: Int

  init(generator: SeededGenerator) {
    var generator = generator
    overtaking = [0, 3, 12][generator.below(3)]
    self.generator = generator
  }

  mutating func choose(among strands: [Int], step: Int) -> Int {
    strands.count == 1 ? 0 : generator.below(strands.count)
  }

  mutating func chooseAtWake(running: Int, among strands: [Int], step: Int) -> Int {
    guard !strands.isEmpty, overtaking > 0, generator.below(overtaking) == 0 else { return 0 }
    return 1 + generator.below(strands.count)
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

/// A chooser that follows recorded choices, and then takes the first job.
struct ReplayChooser: ScheduleChooser {
  private var remaining: ArraySlice<Int>

  init(choices: [Int]) {
    remaining = choices[...]
  }

  mutating func choose(among strands: [Int], step: Int) -> Int {
    guard strands.count > 1, let choice = remaining.popFirst() else { return 0 }
    return min(choice, strands.count - 1)
  }

  mutating func chooseAtWake(running: Int, among strands: [Int], step: Int) -> Int {
    min(remaining.popFirst() ?? 0, strands.count)
  }
}
