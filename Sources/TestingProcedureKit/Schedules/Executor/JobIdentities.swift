/// Recognises tasks across their jobs and gives each a small number, in the order in which they first got ready.
///
/// The numbers are the same in every run of the same schedule, which the runtime's own identities and addresses are
/// not.
struct JobIdentities {
  private var strands: [UInt64: Int] = [:]
  private(set) var count = 0

  /// The strand of a job whose task is `task`.
  ///
  /// Jobs without a task (an actor that starts to serve its mailbox, the hand-over within `Task.yield`) go on with the
  /// strand of the job that enqueued them, if any.
  mutating func strand(ofTask task: UInt64?, enqueuedBy running: Int?) -> Int {
    guard let task else { return running ?? next() }
    if let known = strands[task] { return known }
    let strand = next()
    strands[task] = strand
    return strand
  }

  private mutating func next() -> Int {
    defer { count += 1 }
    return count
  }

  /// The runtime's number of the task that `job` belongs to, or `nil` if it belongs to none.
  ///
  /// Its description, `UnownedJob(id: 7)`, is the only public place where the number is found.
  static func task(of job: UnownedJob) -> UInt64? {
    var number: UInt64?
    for byte in job.description.utf8 {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { continue }
      number = (number ?? 0) &* 10 &+ UInt64(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
