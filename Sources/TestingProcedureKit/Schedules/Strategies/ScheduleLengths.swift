/// How many steps the schedules of an exploration take.
struct ScheduleLengths {
  private var shortest: Int?

  /// The most steps that a schedule has taken, those that starved left out.
  private(set) var longest = 16

  /// The number of steps after which a schedule probably starves, because somebody waits by yielding.
  ///
  /// It is taken from the shortest schedule: from the longest, one that starved would make the next starve for longer.
  var fairAfter: Int { max(shortest ?? 0, 16) * 20 + 1_000 }

  mutating func didRun(_ steps: Int) {
    shortest = min(shortest ?? steps, steps)
    if steps <= fairAfter { longest = max(longest, steps) }
  }
}
