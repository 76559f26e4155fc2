/// The numbers of tasks across their jobs, in the order of each task's first ready job.
///
/// In contrast to the runtime's identities and addresses, the numbers are equal in every run of a schedule.
struct JobIdentities {
  private var strands: [UInt64: Int] = [:]
  private(set) var count = 0

  /// Returns the strand of a job of `task`.
  ///
  /// A job without a task (an actor that begins to serve its callers, the hand-over within `Task.yield`) continues the
  /// strand `running` of the enqueuing job, if there is one.
  mutating func strand(ofTask task: UInt64?, enqueuedBy running: Int?) -> Int {
    guard let task else { return running ?? next() }
    if let known = strands[task] { return known }
    let strand = next()
    strands[task] = strand
    return strand
  }

  /// Returns whether a job of `task` has been ready.
  func knows(_ task: UInt64) -> Bool { strands[task] != nil }

  /// Returns the number of a new strand.
  mutating func next() -> Int {
    defer { count += 1 }
    return count
  }

  /// Returns the runtime's number of the task of `job`; `nil` for a job without a task.
  ///
  /// The description of a job, `UnownedJob(id: 7)`, is the only public source of the number.
  static func task(of job: UnownedJob) -> UInt64? {
    var number: UInt64?
    for byte in job.description.utf8 {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { continue }
      number = (number ?? 0) &* 10 &+ UInt64(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
