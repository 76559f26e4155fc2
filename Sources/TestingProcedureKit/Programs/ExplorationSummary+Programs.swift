extension ExplorationSummary {
  /// Adds the statistics of the exploration of another program.
  mutating func add(_ other: ExplorationSummary) {
    let complete = schedules == 0 ? other.completeOvertakings : completeOvertakings
    completeOvertakings = complete.flatMap { most in other.completeOvertakings.map { min(most, $0) } }
    schedules += other.schedules
    distinctTraces += other.distinctTraces
    decisions += other.decisions
    steps += other.steps
    longestSchedule = max(longestSchedule, other.longestSchedule)
    tallies.merge(other.tallies, uniquingKeysWith: +)
    wakesUnderLock += other.wakesUnderLock
    isComplete = isComplete && other.isComplete
    preemptionLimit = min(preemptionLimit, other.preemptionLimit)
  }
}
