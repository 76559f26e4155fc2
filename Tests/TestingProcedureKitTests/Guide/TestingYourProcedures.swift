import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Testing your procedures*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct TestingYourProcedures {
  struct NotFound: Error, Equatable {
    var path: String
  }

  @Test("A test can inspect every outcome")
  func outcomes() async throws {
    let queue = ProcedureQueue("outcomes")
    let isOnline = Condition("online") { false }

    let found = queue.add(ProcedureTask { 42 })
    #expect(await found.outcome.isFinished(42))

    let lost = queue.add(ProcedureTask { throw NotFound(path: "kitten.ppm") })
    #expect(await lost.outcome.error(as: NotFound.self) == NotFound(path: "kitten.ppm"))

    let dependent = queue.add(ProcedureTask {}, after: [lost])
    #expect(await dependent.outcome.procedureError?.kind == .dependencyFailed)

    let offline = queue.add(ProcedureTask {}.condition(isOnline))
    #expect(await offline.outcome.ignoringCondition == "online")
    await queue.shutDown()
  }

  struct UserLeft: Error {}

  @Test("A run that is cancelled before it starts never executes its body")
  func suspendedQueue() async throws {
    let queue = ProcedureQueue("suspended", isSuspended: true)
    let handle = queue.add(ProcedureTask { Issue.record("the body was executed") })
    handle.cancel(UserLeft())
    let outcome = await handle.outcome
    #expect(outcome.cancellationReason(as: UserLeft.self) != nil)
  }

  @Test("A queue of width one starts the second body when the first has ended")
  func probe() async throws {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    let first = ProbeProcedure<String, Int>("first")
    let second = ProbeProcedure<Int, Int>("second")
    let length = queue.add(first, input: "kitten")
    let twice = queue.add(second, from: length)

    try await first.waitUntilStarted()  // its body executes, and waits for an instruction
    #expect(first.inputs == ["kitten"])
    #expect(twice.state == .pending)
    first.finish(6)

    try await second.waitUntilStarted()
    second.fail(NotFound(path: "kitten"))
    #expect(await twice.outcome.isFailed)
    #expect(await length.outcome.isFinished(6))
    await queue.shutDown()
  }

  @Test("A probe stops a procedure halfway through its work")
  func middleOfABody() async throws {
    let queue = ProcedureQueue("copies")
    let file = File()

    let halfway = ProbeProcedure("halfway")
    let copy = ProcedureTask("copy") {
      await file.write()
      try await halfway.execute()  // waits for an instruction from the test
      await file.write()
    }
    let handle = queue.add(copy)
    try await halfway.waitUntilStarted()
    #expect(await file.version == 2)
    halfway.finish()
    #expect(await handle.outcome.isFinished)
    await queue.shutDown()
  }

  @Test("One condition that fails decides, even if another is undecided")
  func conditionProbe() async throws {
    let queue = ProcedureQueue("conditions")
    let (online, paid) = (ConditionProbe("online"), ConditionProbe("paid"))
    let handle = queue.add(ProcedureTask {}.condition(.probe(online) && .probe(paid)))

    try await online.waitUntilEvaluated()
    try await paid.waitUntilEvaluated()
    paid.fail(NotFound(path: "purse"))
    #expect(await handle.outcome.procedureError?.kind == .conditionFailed)
    await queue.shutDown()
  }

  @Test("A refused authorization fails the procedure")
  func capabilityProbe() async throws {
    let queue = ProcedureQueue("capabilities")
    let camera = CapabilityProbe("camera")
    let handle = queue.add(ProcedureTask {}.condition(.authorized(for: camera)))
    try await camera.waitUntilRequested()
    camera.deny()
    #expect(await handle.outcome.isFailed)
    await queue.shutDown()
  }

  struct Poll: Procedure {
    var interval: Duration
    let clock: any Clock<Duration>

    func execute(_ isReady: @Sendable () async -> Bool) async throws -> Int {
      var attempts = 1
      while await !isReady() {
        try await clock.sleep(for: interval)
        attempts += 1
      }
      return attempts
    }
  }

  @Test("Polling repeats once a minute until the answer is true")
  func virtualClock() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("polling")
    configuration.clock = clock
    let queue = ProcedureQueue(configuration)
    let poll = Poll(interval: .seconds(60), clock: clock)
    let handle = queue.add(poll) { clock.now.offset >= .seconds(120) }

    for _ in 1...2 {
      try await clock.nextSleep()  // waits until a task sleeps
      clock.advance(by: .seconds(60))  // wakes every sleeper that is due
    }
    #expect(try await handle.value == 3)
    #expect(clock.now.offset == .seconds(120))
    await queue.shutDown()
  }

  @Test("A clock that runs for an hour performs all waits that are due within the hour")
  func runningClock() async throws {
    let clock = VirtualClock()
    let queue = clock.makeQueue("polling")
    let handle = queue.add(Poll(interval: .seconds(60), clock: clock)) { clock.now.offset >= .seconds(3_600) }

    try await clock.run(for: .seconds(3_599))
    #expect(!handle.state.isFinished)
    try await clock.run(for: .seconds(1))
    #expect(handle.state.isFinished)
    #expect(try await handle.value == 61)
    await queue.shutDown()
  }

  @Test("A day of polling takes no time in an exploration")
  func automaticClock() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let poll = Poll(interval: .seconds(60), clock: env.clock)
      let attempts = try await queue.run(poll) { env.clock.now.offset >= .seconds(86_400) }
      env.check(attempts == 1_441, "\(attempts) attempts")
      await queue.shutDown()
    }
  }

  @Test("A dependent starts when its dependency has finished")
  func events() async throws {
    let queue = ProcedureQueue("watched")
    let recorder = EventRecorder(queue)  // before anything is added
    let load = queue.add(ProcedureTask("load") { 42 })
    let save = queue.add(ProcedureTask("save") { (_: Int) in }, from: load)

    try await recorder.wait(for: .didFinish, of: save.id)
    #expect(recorder.happened(.didFinish, of: load.id, before: .willExecute, of: save.id))
    #expect(recorder.steps(of: load.id) == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
    #expect(recorder.events.orderViolations().isEmpty)
    await queue.shutDown()
  }

  @Test("A monitor counts the bodies that share a disk")
  func monitor() async throws {
    let monitor = ConcurrencyMonitor()
    try await withProcedureQueue(maxConcurrentProcedures: 4) { queue in
      for _ in 0..<20 {
        queue.add(ProcedureTask { await monitor.during("disk") { await Task.yield() } })
      }
    }
    #expect(monitor.total == 20)
    #expect(monitor.most <= 4)
    #expect(monitor.most(in: "disk") <= 4)
  }

  // MARK: Exploring schedules

  /// The contents of a disk.
  actor File {
    private(set) var version = 1
    func write() { version += 1 }
  }

  /// Keeps the value that a procedure loaded, until the value is invalidated.
  actor Cache {
    private var cached: Int?

    func value(_ load: ProcedureTask<Void, Int>, on queue: ProcedureQueue) async throws -> Int {
      if let cached { return cached }
      let loaded = try await queue.run(load)
      cached = loaded
      return loaded
    }

    func invalidate() { cached = nil }
  }

  actor Store {
    private(set) var state = "old"
    func set(_ state: String) { self.state = state }
  }

  static let notifyBeforeChange: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let store = Store()
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    async let writer: Void = {
      continuation.yield("new")
      await store.set("new")
      continuation.finish()
    }()
    for await event in events { env.check(await store.state == event, "the store is behind its events") }
    await writer
  }

  @Test("An announcement that precedes its change is found, both at random and among all orders")
  func announcing() async throws {
    for strategy in [ExplorationStrategy.mixed(), .exhaustive] {
      let failure = try await requireError(ExplorationFailure.self) {
        try await exploreSchedules(strategy: strategy, Self.notifyBeforeChange)
      }
      #expect("\(failure.problems)".contains("the store is behind its events"))
    }
  }

  static let readWhileWriting: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let (file, cache, queue) = (File(), Cache(), env.makeQueue())
    let load = ProcedureTask("load") { await file.version }

    async let early = cache.value(load, on: queue)
    async let change: Void = {
      await file.write()
      await cache.invalidate()
    }()
    await change
    env.note("early: \(try await early)")
    let late = try await cache.value(load, on: queue)
    env.check(late == 2, "the cache is out of date: \(late)")
    await queue.shutDown()
  }

  @Test("A value that is loaded while the file is written stays in the cache: the bug is found")
  func failure() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1_000, Self.readWhileWriting)
    }
    #expect(failure.deviations.reported > 0)
    let again = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.readWhileWriting)
    }
    #expect(again.order == failure.order)
  }

  /// Keeps a loaded value only if nothing has changed during the load.
  actor CarefulCache {
    private var cached: Int?
    private var generation = 0

    func value(_ load: ProcedureTask<Void, Int>, on queue: ProcedureQueue) async throws -> Int {
      if let cached { return cached }
      let before = generation
      let loaded = try await queue.run(load)
      if before == generation { cached = loaded }
      return loaded
    }

    func invalidate() {
      cached = nil
      generation += 1
    }
  }

  @Test("A careful cache keeps no outdated value")
  func carefulCache() async throws {
    try await exploreRace("read before", "read after") { env in
      let (file, cache, queue) = (File(), CarefulCache(), env.makeQueue())
      let load = ProcedureTask("load") { await file.version }

      async let early = cache.value(load, on: queue)
      async let change: Void = {
        await file.write()
        await cache.invalidate()
      }()
      await change
      env.tally(try await early == 1 ? "read before" : "read after")
      let late = try await cache.value(load, on: queue)
      env.check(late == 2, "the cache is out of date: \(late)")
      await queue.shutDown()
    }
  }

  @Test("Every order of a small body is explored")
  func exhaustive() async throws {
    let summary = try await exploreSchedules(100_000, strategy: .exhaustive) { env in
      let file = File()
      async let first: Void = file.write()
      async let second: Void = file.write()
      _ = await (first, second)
      env.check(await file.version == 3)
    }
    #expect(summary.isComplete)
  }

  @Test("A deadlock report shows the waits")
  func deadlock() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { env in
        let queue = env.makeQueue("uploads", isSuspended: true)
        let handle = queue.add(ProcedureTask("upload") {})
        await queue.waitUntilIdle()
        env.check(handle.state == .finished)
      }
    }
    #expect(failure.deadlock?.waits.first?.contains("waits for the queue to be resumed") == true)
  }

  @Test("A task with the executor of the exploration is controlled")
  func otherTasks() async throws {
    try await exploreSchedules(100) { env in
      let handle = env.makeQueue().add(ProcedureTask { await Task.yield() })
      let task = Task(executorPreference: env.executor) { handle.cancel() }
      await task.value
      _ = await handle.outcome
    }
  }

  @Test("An explorer can have other limits")
  func limits() async throws {
    var explorer = ScheduleExplorer(schedules: 200, strategy: .priorities(changePoints: 3))
    explorer.stepLimit = 10_000
    try await explorer.explore { env in
      let sum = env.random.below(10) + Int.random(in: 0..<10, using: &env.random)
      env.check(sum < 19)
    }
  }
}
