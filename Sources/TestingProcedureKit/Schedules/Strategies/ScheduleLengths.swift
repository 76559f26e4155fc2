/// The numbers of steps of an exploration's schedules.
struct ScheduleLengths {
  private var shortest: Int?

  /// The largest number of steps, without starving schedules.
  private(set) var longest = 16

  /// The number of steps after which a schedule probably starves, because a strand waits by yielding.
  ///
  /// The number depends on the shortest schedule: with the longest, a starving schedule would let the next one starve
  /// longer.
  var fairAfter: Int { max(shortest ?? 0, 16) * 20 + 1_000 }

  mutating func didRun(_ steps: Int) {
    shortest = min(shortest ?? steps, steps)
    if steps <= fairAfter { longest = max(longest, steps) }
  }
}
