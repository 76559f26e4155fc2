import Synchronization

/// The kind of a job. The kind shows whether the running task is waking another task or suspending.
///
/// The kind is stored in the first byte of the job's flags, after the object header and two words that the scheduler uses. This layout is
/// part of the runtime's binary interface, but it is undocumented, so it is checked at run time; see `isKnown`.
enum JobKind {
  private static let flagsOffset = 4 * MemoryLayout<UInt>.size
  private static let task: UInt8 = 0
  private static let actor: UInt8 = 193
  private static let continuation: UInt8 = 195

  /// Whether the kinds of jobs can be read in this process.
  ///
  /// If they cannot be read, the explorer makes no choice when a task that is waiting within an actor is woken, because the job that
  /// continues this task looks like a `Task.yield`.
  static let isKnown: Bool = {
    guard UndocumentedParts.areAllowed else { return false }
    let probe = Probe()
    KitSpawner.startProbe(on: probe)
    return probe.kindsUntilIdle() == [task, continuation, task]
  }()

  /// Returns whether `job`, which the running task has enqueued, wakes or starts another task.
  static func isWake(_ job: UnownedJob, ofTask id: UInt64?) -> Bool {
    guard withUnsafeCurrentTask(body: { $0 != nil }) else { return false }
    return id != nil || isKnown && kind(of: job) != continuation
  }

  /// Returns whether `job` only makes its own task ready again, as `Task.yield` does.
  static func isYield(_ job: UnownedJob, ofTask id: UInt64?) -> Bool {
    id == nil && isKnown && kind(of: job) == continuation
  }

  private static func kind(of job: UnownedJob) -> UInt8 {
    unsafeBitCast(job, to: UnsafeRawPointer.self).load(fromByteOffset: flagsOffset, as: UInt8.self)
  }

  /// Returns whether `job` serves the callers of a default actor.
  static func isActor(_ job: UnownedJob) -> Bool {
    isKnown && kind(of: job) == actor
  }

  /// Returns whether `job` belongs to a task, rather than to an actor or a continuation.
  static func isTask(_ job: UnownedJob, ofTask id: UInt64?) -> Bool {
    id != nil && isKnown && kind(of: job) == task
  }

  /// An executor that does not run its jobs. The code that uses the executor takes each job with `next` and runs it with `run`.
  final class Probe: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    func next() -> UnownedJob? { jobs.withLock { $0.popLast() } }

    func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }

    fileprivate func kindsUntilIdle() -> [UInt8] {
      var kinds: [UInt8] = []
      while let job = next() {
        kinds.append(JobKind.kind(of: job))
        run(job)
      }
      return kinds
    }
  }
}

/// The numbers of an exploration's tasks, assigned in the order in which the tasks' first jobs become ready.
///
/// Unlike the identities that the runtime assigns, the numbers are the same in every run of a schedule. A number represents a logical task,
/// which is either a `Task` or a series of jobs that do not belong to a `Task`.
struct JobIdentities {
  private var numbers: [UInt64: Int] = [:]
  private(set) var count = 0

  /// Returns the number that identifies the task to which a job belongs.
  ///
  /// - Parameters:
  ///   - id: The number that the runtime has assigned to the job's task; `nil` for a job without a task.
  ///   - running: The task that is enqueuing the job, if known. A job that does not belong to a `Task`, such as the job that `Task.yield`
  ///     enqueues, or the job in which an actor starts to serve its callers, is attributed to this task.
  /// - Returns: The task's number. A task without earlier jobs gets a new number.
  mutating func number(ofTask id: UInt64?, enqueuedBy running: Int?) -> Int {
    guard let id else { return running ?? next() }
    if let known = numbers[id] { return known }
    let number = next()
    numbers[id] = number
    return number
  }

  /// Returns whether a job of the task with the runtime's number `id` has ever been ready.
  func knows(_ id: UInt64) -> Bool { numbers[id] != nil }

  /// Returns the number of a new task.
  mutating func next() -> Int {
    defer { count += 1 }
    return count
  }

  /// Whether the numbers of tasks can be read in this process.
  ///
  /// If they cannot be read, a job is attributed to the task that enqueued it.
  static let areKnown: Bool = {
    guard UndocumentedParts.areAllowed else { return false }
    let probe = JobKind.Probe()
    /// Runs a task that suspends once, which enqueues three jobs. The second job does not belong to a task. Returns the number in the
    /// description of each job.
    func numbers() -> [UInt64?] {
      KitSpawner.startProbe(on: probe)
      var numbers: [UInt64?] = []
      while let job = probe.next() {
        numbers.append(number(in: job.description))
        probe.run(job)
      }
      return numbers
    }
    let (first, second) = (numbers(), numbers())
    return [first, second].allSatisfy { $0.count == 3 && $0[0] != nil && $0[0] == $0[2] && $0[1] == nil }
      && first[0] != second[0]
  }()

  /// Returns the runtime's number for the task of `job`; `nil` if the job has no task or the numbers are unknown.
  ///
  /// The description of a job, `UnownedJob(id: 7)`, is the only public source of the number. Its format is undocumented, so it is checked
  /// at run time; see `areKnown`.
  static func taskID(of job: UnownedJob) -> UInt64? {
    areKnown ? number(in: job.description) : nil
  }

  /// Returns the number formed by the digits in `text`; `nil` if there are none.
  private static func number(in text: String) -> UInt64? {
    var text = text
    return text.withUTF8 { bytes in
      var (number, index) = (nil as UInt64?, 0)
      // Each job is described, and iterating over a string takes much longer in a debug build.
      while index < bytes.count {
        let digit = bytes[index] &- 0x30
        if digit < 10 { number = (number ?? 0) &* 10 &+ UInt64(digit) }
        index += 1
      }
      return number
    }
  }
}
