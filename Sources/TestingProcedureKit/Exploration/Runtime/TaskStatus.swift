import Synchronization

/// The state of a task, for naming the stuck tasks of a deadlock.
///
/// The state is a word in the task's object, behind the job. The layout is not documented; `isKnown` is therefore the
/// result of a test. Only runs for a report read the state.
///
/// Invariant: a counted task is retained as long as the status exists. A task of `async let` is not counted, and lies in
/// the memory of its parent; the state of such a task is only read directly after one of its jobs.
final class TaskStatus: Sendable {
  private static let word = MemoryLayout<UInt>.size
  private static let offset = 12 * word
  private static let completed: UInt32 = 0x2000

  /// Whether the states of tasks can be read in this process.
  static let isKnown: Bool = {
    guard word == 8, Counting.retain != nil, Counting.release != nil, JobKind.isKnown,
      Platform.variable(named: "_swift_concurrency_debug_internal_layout_version", as: UInt32.self)?.pointee == 1
    else { return false }
    let probe = JobKind.Probe()
    KitSpawner.startProbe(on: probe)
    var ends: [Bool] = []
    var status: TaskStatus?
    while let job = probe.next() {
      status = status ?? TaskStatus(job)
      probe.run(job)
      ends.append(status?.hasEnded ?? false)
    }
    return status?.isCounted == true && ends == [false, false, true]
  }()

  private let address: UInt

  /// Whether the task counts references.
  let isCounted: Bool

  /// Retains the task of `job`, if the task counts references; `job` has to be a task's job.
  init(_ job: UnownedJob) {
    address = unsafeBitCast(job, to: UInt.self)
    let count = UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: Self.word, as: Int.self)
    isCounted = (count ?? -1) >= 0
    if isCounted { _ = Counting.retain?(address) }
  }

  deinit {
    if isCounted { Counting.release?(address) }
  }

  var hasEnded: Bool {
    let flags = UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: Self.offset, as: UInt32.self)
    return (flags ?? 0) & Self.completed != 0
  }

  /// The runtime's functions for counting references to objects, which are part of its binary interface.
  private enum Counting {
    static let retain = Platform.function(named: "swift_retain", as: (@convention(c) (UInt) -> UInt).self)
    static let release = Platform.function(named: "swift_release", as: (@convention(c) (UInt) -> Void).self)
  }
}

/// A task that only collects the remaining tasks of its group, at the end of `withTaskGroup` or in `waitForAll`.
///
/// Between two results, the task executes a loop of the standard library, and nothing of the code under test. A step
/// from the loop to the same loop therefore commutes with every other step. The loop is recognized by the return
/// addresses of the suspended task, which a trial run has shown. The layout of jobs and frames is part of the runtime's
/// binary interface, but not documented: if the trial shows something else, no loop is recognized.
enum GroupDrain {
  private typealias Wait = [UInt]

  private static let resumeOffset = 7 * MemoryLayout<UInt>.size
  private static let depths = [2, 3]

  /// The function that resumes a task after a wait for its group, and the return addresses of the waits in loops.
  private static let known: (resume: UInt, waits: [Wait])? = {
    guard JobKind.isKnown, MemoryLayout<UInt>.size == 8 else { return nil }
    let trial = Trial()
    KitSpawner.startGroups(on: trial)
    let (loops, others) = trial.waitsUntilIdle()
    guard loops.count == 3, others.count == 4, Set((loops + others).map(\.resume)).count == 1 else { return nil }
    var waits: [Wait] = []
    for loop in loops {
      // The shortest chain that no loop of the code under test has.
      let depth = depths.first { depth in
        others.allSatisfy { $0.addresses.prefix(depth) != loop.addresses.prefix(depth) }
      }
      if let depth { waits.append(Array(loop.addresses.prefix(depth))) }
    }
    return (loops[0].resume, waits)
  }()

  /// Whether such loops are recognized in this process.
  static var isKnown: Bool { !(known?.waits.isEmpty ?? true) }

  /// Returns the address of the loop's frame, if the task of `job` waits in such a loop; `nil` otherwise.
  ///
  /// The job was just enqueued, so that its task is suspended and its frames exist.
  static func loop(of job: UnownedJob) -> UInt? {
    guard let known, resume(of: job) == known.resume else { return nil }
    let frames = frames(of: job)
    return known.waits.lazy.compactMap { wait in
      frames.addresses.starts(with: wait) ? frames.frames[wait.count] : nil
    }.first
  }

  private static func resume(of job: UnownedJob) -> UInt {
    pointer(to: job).load(fromByteOffset: resumeOffset, as: UInt.self)
  }

  /// The frames of the suspended task from the innermost outwards, and the address at which each returns.
  private static func frames(of job: UnownedJob) -> (frames: [UInt], addresses: [UInt]) {
    var (frames, addresses): ([UInt], [UInt]) = ([], [])
    var frame = pointer(to: job).load(fromByteOffset: resumeOffset + 8, as: UInt.self)
    while frames.count <= 3, frame > 4_096, frame % 8 == 0, let start = UnsafeRawPointer(bitPattern: frame) {
      frames.append(frame)
      addresses.append(start.load(fromByteOffset: 8, as: UInt.self))
      frame = start.load(as: UInt.self)
    }
    while frames.count <= 3 {
      frames.append(0)
      addresses.append(0)
    }
    return (frames, addresses)
  }

  private static func pointer(to job: UnownedJob) -> UnsafeRawPointer {
    unsafeBitCast(job, to: UnsafeRawPointer.self)
  }

  /// An executor that runs its jobs on the calling thread, and notes how a task waits for its groups.
  final class Trial: TaskExecutor {
    fileprivate struct Seen {
      var resume: UInt
      var addresses: [UInt]
    }

    private struct State {
      var jobs: [UnownedJob] = []
      var isLoop = false
      var isAsked = false
      var loops: [Seen] = []
      var others: [Seen] = []
    }

    private let state = Mutex(State())

    /// Announces a wait of the calling task for a group.
    func willWait(inLoop isLoop: Bool) {
      state.withLock { ($0.isLoop, $0.isAsked) = (isLoop, true) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      let isWaiting = withUnsafeCurrentTask { $0 == nil } && JobIdentities.task(of: job) != nil
      state.withLock { state in
        state.jobs.append(job)
        guard isWaiting, state.isAsked else { return }
        state.isAsked = false
        let seen = Seen(resume: GroupDrain.resume(of: job), addresses: GroupDrain.frames(of: job).addresses)
        if state.isLoop { state.loops.append(seen) } else { state.others.append(seen) }
      }
    }

    fileprivate func waitsUntilIdle() -> (loops: [Seen], others: [Seen]) {
      while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
      return state.withLock { ($0.loops, $0.others) }
    }
  }
}
