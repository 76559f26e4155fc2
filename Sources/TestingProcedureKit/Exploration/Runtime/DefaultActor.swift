import Synchronization

/// A default actor whose callers are served by a schedule: one at a time, each in a separate step, and in any order.
///
/// The runtime keeps the callers of a default actor in a queue within the actor, and runs all of them in one job. An exploration could
/// choose when this job runs, but not the order of its callers. Therefore, the exploration takes each caller out of the queue as soon as
/// the runtime adds it, and runs the caller later, isolated to the actor. While the caller runs, the actor is marked as running, so no
/// other thread runs it concurrently.
///
/// The state of the actor is stored in two words after the actor's header: the flags and the most recent caller. The layout is not
/// documented, so a test determines `isKnown`. The runtime changes both words in a single atomic operation, and so does this type.
///
/// Invariant: Each address comes from a job that the runtime has passed to the exploration and that has not run yet. The job and the actor
/// that it is waiting for are therefore still in memory. A visit also retains the actor (see `retained`). An `UnownedJob` is the address of
/// the job, so it can be converted to and from the words in which the runtime stores jobs.
struct DefaultActor: Hashable, Sendable {
  private typealias State = Atomic<WordPair>

  fileprivate static let word = MemoryLayout<UInt>.size
  fileprivate static let stateOffset = 4 * word
  /// The offset of the actor within a job of the kind `JobKind.actor`.
  private static let actorOffset = 8 * word
  /// The offset of the next caller within a job that is in a queue. The two lowest bits do not belong to the address.
  fileprivate static let nextOffset = 2 * word

  /// The phases of an actor, as stored in the lowest bits of its flags.
  fileprivate enum Phase {
    static let mask: UInt = 7
    static let idle: UInt = 0
    static let scheduled: UInt = 1
    static let running: UInt = 2
    /// The actor was released during a job, and its memory must be freed after the job.
    static let zombie: UInt = 3
  }

  private static let deallocate = Platform.function(
    named: "swift_defaultActor_deallocate", as: (@convention(c) (UInt) -> Void).self)
  private static let enqueue = Platform.function(
    named: "swift_defaultActor_enqueue", as: (@convention(c) (UInt, UInt) -> Void).self)

  /// Whether the callers of default actors can be taken out of the actors' queues in this process.
  static let isKnown: Bool = {
    #if os(Linux) && _pointerBitWidth(_64)
      return JobKind.isKnown && JobIdentities.areKnown && deallocate != nil && enqueue != nil
        && DefaultActorProbe().isSuccessful
    #else
      // On other systems, the flags also contain the thread that is running the actor.
      return false
    #endif
  }()

  fileprivate let address: UInt

  /// Creates a reference to the actor to which `job` belongs. `job` must be of the kind `JobKind.actor`.
  init(servedBy job: UnownedJob) {
    address = Self.load(unsafeBitCast(job, to: UInt.self), Self.actorOffset)
  }

  fileprivate static func load(_ address: UInt, _ offset: Int) -> UInt {
    UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: offset, as: UInt.self) ?? 0
  }

  /// The only caller in the queue, if a job is scheduled to serve it; otherwise `nil`.
  var onlyCaller: UnownedJob? {
    let caller = Self.load(address, Self.stateOffset + Self.word)
    guard Self.load(address, Self.stateOffset) & Phase.mask == Phase.scheduled, caller != 0,
      Self.load(caller, Self.nextOffset) & ~3 == 0
    else { return nil }
    return unsafeBitCast(caller, to: UnownedJob.self)
  }

  /// Removes the only caller from the queue of the actor to which `job` belongs, and ends `job` without running the caller.
  ///
  /// - Returns: The caller and its actor; `nil` if there are several callers because threads outside the exploration also call the actor.
  static func takeCaller(
    servedBy job: UnownedJob, on executor: some TaskExecutor
  ) -> (caller: UnownedJob, actor: Self)? {
    let actor = Self(servedBy: job)
    guard let caller = actor.onlyCaller else { return nil }
    let flags = load(actor.address, stateOffset)
    let before = WordPair(first: flags, second: unsafeBitCast(caller, to: UInt.self))
    guard actor.change(from: before, to: WordPair(first: flags, second: 0)) else { return nil }
    // Without a caller, the job only makes the actor idle.
    job.runSynchronously(on: executor.asUnownedTaskExecutor())
    return (caller, actor)
  }

  /// Marks an idle actor as running.
  ///
  /// - Returns: Whether the actor was idle. Otherwise, a thread outside the exploration is running it.
  func lock() -> Bool {
    change(
      from: WordPair(first: Phase.idle, second: 0), to: WordPair(first: Phase.running, second: 0))
  }

  /// Removes from the queue the callers that arrived while the actor was marked as running.
  ///
  /// - Returns: The callers in order of arrival.
  func takeCallers() -> [UnownedJob] {
    while true {
      let state = current
      guard state.second != 0, state.first & Phase.mask == Phase.running else { return [] }
      guard change(from: state, to: WordPair(first: state.first, second: 0)) else { continue }
      var callers: [UnownedJob] = []
      var next = state.second
      while next != 0 {
        callers.append(unsafeBitCast(next, to: UnownedJob.self))
        next = Self.load(next, Self.nextOffset) & ~3
      }
      return callers.reversed()
    }
  }

  /// Marks the actor as idle.
  ///
  /// - Returns: The callers that arrived while the actor was marked as running, in order of arrival.
  func unlock() -> [UnownedJob] {
    var callers: [UnownedJob] = []
    while true {
      callers += takeCallers()
      let state = current
      let isReleased = state.first & Phase.mask == Phase.zombie
      guard state.second == 0, change(from: state, to: WordPair(first: Phase.idle, second: 0)) else { continue }
      if isReleased { Self.deallocate?(address) }
      return callers
    }
  }

  /// Adds a caller to the actor's own queue, so that the runtime serves the caller.
  func enqueue(_ caller: UnownedJob) {
    Self.enqueue?(unsafeBitCast(caller, to: UInt.self), address)
  }

  /// Runs a caller, isolated to the actor. When the runtime runs a caller, the caller continues on the same thread after it leaves the
  /// actor. With this function, the caller does not continue immediately, so the exploration can choose when it continues. If the caller's
  /// task prefers no executor, `executor` is `nil`.
  func run(_ caller: UnownedJob, preferring executor: (any TaskExecutor)?) {
    let serial = unsafeBitCast((address, UInt(0)), to: UnownedSerialExecutor.self)
    if let executor {
      caller.runSynchronously(isolatedTo: serial, taskExecutor: executor.asUnownedTaskExecutor())
    } else {
      caller.runSynchronously(on: serial)
    }
  }

  /// Calls `body` and keeps the actor in memory until `body` returns.
  func retained<R>(_ body: () -> R) -> R {
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return body() }
    let reference = Unmanaged<AnyObject>.fromOpaque(pointer).retain()
    defer { reference.release() }
    return body()
  }

  /// The name of the actor's type. The actor must still be in memory.
  var typeName: String {
    guard let pointer = UnsafeRawPointer(bitPattern: address) else { return "" }
    return "\(type(of: Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()))"
  }

  private var current: WordPair {
    UnsafePointer<State>(bitPattern: address + UInt(Self.stateOffset))?.pointee.load(ordering: .acquiring)
      ?? WordPair(first: 0, second: 0)
  }

  private func change(from before: WordPair, to after: WordPair) -> Bool {
    UnsafePointer<State>(bitPattern: address + UInt(Self.stateOffset))?.pointee
      .compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing).exchanged ?? false
  }
}

/// A test of whether the explorer can serve the callers of a default actor.
///
/// Each step verifies what the next one relies on, so if the layout is different, the test fails instead of crashing.
private struct DefaultActorProbe {
  /// An actor that records its own phase during each visit.
  actor Visited {
    nonisolated let phases = Mutex<[UInt]>([])

    func visit() {
      let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
      let flags = DefaultActor.load(address, DefaultActor.stateOffset)
      phases.withLock { $0.append(flags & DefaultActor.Phase.mask) }
    }
  }

  private let executor = JobKind.Probe()
  private let visited = Visited()

  /// Whether the explorer and the runtime can take turns serving the actor.
  var isSuccessful: Bool {
    guard isIdle, let first = startCaller(), let job = executor.next(), JobKind.isActor(job) else { return false }
    let actor = DefaultActor(servedBy: job)
    guard actor.address == address, phase == DefaultActor.Phase.scheduled, isLastCaller(first),
      DefaultActor.takeCaller(servedBy: job, on: executor) != nil, isIdle, actor.lock(),
      phase == DefaultActor.Phase.running, let second = startCaller(), isLastCaller(second),
      let third = startCaller(), isLastCaller(third),
      DefaultActor.load(bits(third), DefaultActor.nextOffset) & ~3 == bits(second),
      actor.takeCallers().map(bits) == [bits(second), bits(third)]
    else { return false }
    actor.run(first, preferring: executor)
    guard actor.unlock().isEmpty, isIdle else { return false }
    actor.enqueue(second)
    runUntilIdle()
    guard isIdle, actor.lock() else { return false }
    actor.run(third, preferring: executor)
    guard actor.unlock().isEmpty, isIdle else { return false }
    runUntilIdle()
    return visited.phases.withLock { $0 } == Array(repeating: DefaultActor.Phase.running, count: 3)
  }

  private var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(visited).toOpaque()) }
  private var phase: UInt { DefaultActor.load(address, DefaultActor.stateOffset) & DefaultActor.Phase.mask }
  private var lastCaller: UInt { DefaultActor.load(address, DefaultActor.stateOffset + DefaultActor.word) }
  private var isIdle: Bool { phase == DefaultActor.Phase.idle && lastCaller == 0 }

  private func bits(_ job: UnownedJob) -> UInt { unsafeBitCast(job, to: UInt.self) }
  private func isLastCaller(_ job: UnownedJob) -> Bool { lastCaller == bits(job) }

  /// Runs a task until it calls the actor.
  ///
  /// - Returns: The task's job.
  private func startCaller() -> UnownedJob? {
    KitSpawner.startVisitor(on: executor) { [visited] in await visited.visit() }
    let job = executor.next()
    if let job { executor.run(job) }
    return job
  }

  private func runUntilIdle() {
    while let job = executor.next() { executor.run(job) }
  }
}
