/// The record of one schedule: the strand at each step, and each choice.
struct ScheduleRecord: Equatable {
  /// The strand at each step.
  private(set) var strands: [Int] = []

  /// The chosen position at each wake, and at each end of a job with several ready jobs.
  ///
  /// At a wake, `0` is the running job.
  private(set) var choices: [Int] = []

  /// The number of alternatives at each of `choices`.
  private(set) var widths: [Int] = []

  /// The number of wakes that were no choices, since they happen under a lock.
  private(set) var wakesUnderLock = 0

  /// A fingerprint of `strands`, for distinguishing orders.
  private(set) var fingerprint = Fingerprint()

  var steps: Int { strands.count }

  mutating func didWake(_ index: Int, of count: Int, isUnderLock: Bool) {
    choices.append(index)
    widths.append(count)
    if isUnderLock { wakesUnderLock += 1 }
  }

  mutating func didChoose(_ index: Int, of count: Int) {
    choices.append(index)
    widths.append(count)
  }

  mutating func didRun(_ strand: Int) {
    strands.append(strand)
    fingerprint.add(strand)
  }
}
