import Dispatch
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ExploreSchedulesTests {
  /// Reads the balance, waits for consent, and only then withdraws the money.
  private actor Account {
    private(set) var balance: Int
    init(balance: Int) { self.balance = balance }

    func withdraw(_ amount: Int) async {
      guard balance >= amount else { return }
      await Task.yield()
      balance -= amount
    }
  }

  private static let overdraft: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let account = Account(balance: 100)
    async let first: Void = account.withdraw(70)
    async let second: Void = account.withdraw(70)
    _ = await (first, second)
    env.note("the end")
    env.check(await account.balance >= 0, "the balance is never negative")
  }

  @TaskLocal private static var local = 0

  @Test("An exploration within the body of another one is an error, even in a task that the body creates")
  func nested() async throws {
    for isTask in [false, true] {
      let failure = try await requireError(ExplorationFailure.self) {
        try await exploreSchedules(1) { env in
          let inner: @Sendable () async throws -> Void = { try await exploreSchedules(1) { _ in } }
          if isTask {
            try await Task(executorPreference: env.executor) { try await inner() }.value
          } else {
            try await inner()
          }
        }
      }
      #expect(
        "\(failure.problems)".contains("an exploration was started within the body of another exploration"),
        "\(failure)")
    }
  }

  @Test("A body that is correct in every order passes, and the summary has the counts")
  func summary() async throws {
    let summary = try await exploreSchedules(100, seed: 7) { env in
      let account = Account(balance: 100)
      async let first: Void = account.withdraw(70)
      async let second: Void = account.withdraw(30)
      _ = await (first, second)
      env.check(await account.balance == 0)
    }
    #expect(summary.schedules == 100)
    #expect((5...100).contains(summary.distinctTraces))
    #expect(summary.decisions >= 100)
    #expect(summary.steps > summary.decisions)
    #expect(summary.longestSchedule >= 10)
    #expect(summary.hasChoices && !"\(summary)".contains("no choice"), "\(summary)")
  }

  @Test("The summary says if the explorer had no choice between tasks")
  func withoutChoice() async throws {
    let summary = try await exploreSchedules(10) { env in
      let account = Account(balance: 100)
      await account.withdraw(70)
      try await env.clock.sleep(for: .seconds(1))
      if ScheduleExplorer.controlsRealTime { try await Task.sleep(for: .seconds(1)) }
      env.check(await account.balance == 30)
    }
    #expect(!summary.hasChoices)
    #expect(
      "\(summary)".contains(
        "(the explorer had no choice between tasks, so the exploration proves nothing about their order)"))
  }

  @Test(
    "A failure is simplified, reported, and repeated by its replay string",
    arguments: [ExplorationStrategy.random, .priorities()])
  func failure(strategy: ExplorationStrategy) async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(seed: 7, strategy: strategy, Self.overdraft)
    }
    let report = failure.reportWithoutSteps
    #expect(report.contains("\n  seed: 7\n"))
    #expect(report.contains("found in schedule \(failure.schedule), "))
    #expect(report.contains(".replay(\"\(failure.replay)\")"))
    #expect(report.contains("the balance is never negative (TestingProcedureKitTests/ExploreSchedulesTests.swift:"))
    #expect(report.contains("note: the end"))
    #expect(failure.deviations.reported <= failure.deviations.found)
    let again = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.overdraft)
    }
    #expect(again.order == failure.order)
    #expect(again.replay == failure.replay)
  }

  @Test("Every order of a small body can be run, each exactly once")
  func exhaustive() async throws {
    let orders = Locked<Set<String>>([])
    let summary = try await exploreSchedules(strategy: .exhaustive) { env in
      let order = Locked("")
      await withTaskGroup(of: Void.self) { group in
        for name in ["a", "b", "c", "d"] { group.addTask { order { $0 += name } } }
      }
      orders { _ = $0.insert(order.value) }
    }
    #expect(summary.isComplete)
    #expect(orders.value.count == 24)
    #expect(summary.distinctTraces <= summary.schedules)
    let part = try await exploreSchedules(5, strategy: .exhaustive) { env in
      async let one: Void = Task.yield()
      async let two: Void = Task.yield()
      _ = await (one, two)
    }
    #expect(part.schedules == 5)
    #expect(!part.isComplete)
    await expectError(ExplorationFailure.self) { try await exploreSchedules(strategy: .exhaustive, Self.overdraft) }
  }

  @Test("A race continues until every outcome has occurred; an outcome that never occurs is an error with the tallies")
  func race() async throws {
    let rare: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
      env.tally(env.random.below(40) == 0 ? "rare" : "usual")
    }
    let summary = try await exploreRace("usual", "rare", schedules: 10, seed: 1, body: rare)
    #expect((11...100).contains(summary.schedules) && summary.tallies["rare"] == 1, "\(summary)")
    #expect(try await exploreRace("usual", schedules: 10, body: rare).schedules == 10)
    let missing = try await #require(throws: MissingOutcomes.self) {
      try await exploreRace("never", "usual", "not once", schedules: 10, body: rare)
    }
    #expect(missing.outcomes == ["never", "not once"])
    #expect(missing.summary.schedules == 100)
    let start = #"these required outcomes never occurred: "never" and "not once" (in 100 schedules"#
    #expect("\(missing)".hasPrefix(start))
    await expectError(ExplorationFailure.self) { try await exploreRace("never", body: Self.overdraft) }
    let failure = try await requireError(ExplorationFailure.self) { try await exploreRace(body: Self.overdraft) }
    await expectError(ExplorationFailure.self) {
      try await exploreRace("never", strategy: .replay(failure.replay), body: Self.overdraft)
    }
    try await exploreRace("never", strategy: .replay("pk2:0:"), body: rare)
  }

  @Test("A failure that a test framework reports is passed to the exploration that is executing the reporting code")
  func reports() async throws {
    #expect(!ExplorationEnvironment.report("there is no exploration"))
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { env in
        let queue = env.makeQueue()
        queue.add(
          ProcedureTask { env.check(ExplorationEnvironment.report("it is broken", fileID: "A/B.swift", line: 7)) })
        await queue.shutDown()
      }
    }
    #expect("\(failure.problems)".contains("expectation failed: it is broken (A/B.swift:7)"))
    #expect(failure.problems.count == 1)
    let trace = try #require(failure.trace)
    let stretches = trace.stretches { $0.events.contains("check failed: it is broken") }
    #expect(stretches.count == 1, "\(failure)")
    #expect(stretches.first?.events.contains("check failed: it is broken") == true, "\(failure)")
  }

  @Test("A thrown error is a failure, which contains the error")
  func thrown() async throws {
    struct Broken: Error {}
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { _ in throw Broken() }
    }
    #expect(failure.thrownError is Broken)
    let missing = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { env in _ = try env.require([Int]().first, "the first element of an empty array")
      }
    }
    #expect("\(missing)".contains("requirement failed: the first element of an empty array"))
  }

  @Test("An unfinished schedule without a ready job is a deadlock, and tasks that respect cancellation end")
  func deadlock() async throws {
    let obedient = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { _ in
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        for await _ in stream {}
        continuation.finish()
      }
    }
    let ended = try #require(obedient.deadlock)
    #expect(ended.aftermath == .endedByCancelling)
    #expect(ended.tasks == 1)
    #expect("\(ended)".contains("(1 task in the schedule)"))
    let stubborn = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10) { env in
        try await env.clock.sleep(for: .seconds(3))
        try await ProbeProcedure(ignoresCancellation: true).execute(())
      }
    }
    let stuck = try #require(stubborn.deadlock)
    #expect(stuck.aftermath == .abandoned)
    #expect(stuck.instant.offset == .seconds(3))
  }

  @Test("An endless schedule is stopped", arguments: [ExplorationStrategy.random, .priorities(), .roundRobin])
  func endless(strategy: ExplorationStrategy) async throws {
    var explorer = ScheduleExplorer(schedules: 2, strategy: strategy)
    explorer.stepLimit = 500
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { _ in while true { await Task.yield() } }
    }
    #expect("\(failure.problems)".contains("still not finished after 400 steps"))
  }

  @Test("Priorities do not starve other tasks while a task waits by yielding")
  func yielding() async throws {
    let summary = try await exploreSchedules(TestDepth.count(1_000), strategy: .priorities()) { _ in
      let isDone = Locked(false)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { while !isDone.value { await Task.yield() } } }
        group.addTask {
          for _ in 0..<10 { await Task.yield() }
          isDone { $0 = true }
        }
      }
    }
    #expect(summary.longestSchedule < 3_000)
  }

  @Test("Tasks without an executor are explored, too", .enabled(if: ScheduleExplorer.controlsGlobalTasks))
  func globalTasks() async throws {
    try await exploreRace("ab", "ba", schedules: 100) { env in
      let order = Locked("")
      let first = Task { order { $0 += "a" } }
      let second = Task.detached { order { $0 += "b" } }
      await first.value
      await second.value
      env.tally(order.value)
    }
  }

  @Test("A job from another thread is reported as uncontrolled, unless uncontrolled jobs are allowed")
  func uncontrolled() async throws {
    let elsewhere: @Sendable (ExplorationEnvironment) async throws -> Void = { _ in
      await withCheckedContinuation { waiter in
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.001) { waiter.resume() }
      }
    }
    // The work can end before the task waits, or much later on a busy machine.
    var explorer = ScheduleExplorer(schedules: 1_000)
    explorer.patience = .seconds(3_600)
    let failure = try await requireError(ExplorationFailure.self) { try await explorer.explore(elsewhere) }
    #expect(reasons(of: failure) == [.enqueuedFromOutside])
    explorer.allowsUncontrolledJobs = true
    explorer.schedules = 10
    try await explorer.explore(elsewhere)
  }

  @Test("A clock, a queue or a task that outlives its schedule is reported, even if no task waits for it")
  func outliving() async throws {
    let clock = VirtualClock()
    let first = Locked<(clock: VirtualClock, queue: ProcedureQueue)?>(nil)
    let uses: [@Sendable (ExplorationEnvironment) async -> Void] = [
      { _ in clock.advance(by: .seconds(1)) },
      { _ in
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        sleeper.cancel()
        _ = await sleeper.result
      },
      { _ in first.value?.clock.advance(by: .seconds(1)) },
      { _ in first.value?.queue.add(ProcedureTask {}) },
      { _ in Task(executorPreference: first.value?.clock.executor) {} },
    ]
    for use in uses {
      first { $0 = nil }
      let failure = try await requireError(ExplorationFailure.self) {
        try await exploreSchedules(3) { env in
          if first.value == nil { first { $0 = (env.clock, env.makeQueue()) } }
          await use(env)
        }
      }
      #expect(reasons(of: failure).contains(.outlivesSchedule), "\(failure)")
      #expect("\(failure.problems)".contains("Create the clock, the queue or the task in the body"))
    }
  }

  private func reasons(of failure: ExplorationFailure) -> [UncontrolledJob.Reason] {
    failure.problems.compactMap { if case .uncontrolled(let job) = $0 { job.reason } else { nil } }
  }

  @Test("The body has the caller's task locals, and random numbers that differ between schedules")
  func context() async throws {
    let numbers = Locked<Set<UInt64>>([])
    try await Self.$local.withValue(42) {
      _ = try await exploreSchedules(20) { env in
        env.check(Self.local == 42)
        let number = env.random.next()
        let another = UInt64.random(in: 0...(.max), using: &env.random)
        numbers { $0.formUnion([number, another]) }
      }
    }
    #expect(numbers.value.count == 40)
  }

  @Test("Tasks that outlive the body run to completion, and their sleeps are cancelled")
  func leftovers() async throws {
    let ended = Locked(0)
    try await exploreSchedules(20) { env in
      let task = Task(executorPreference: env.executor) {
        await Task.yield()
        try? await env.clock.sleep(for: .seconds(1))
        ended { $0 += 1 }
      }
      env.check(!task.isCancelled)
    }
    #expect(ended.value == 20)
  }

  @Test("Cancelling the caller ends the exploration")
  func cancellation() async throws {
    let caller = Locked<Task<ExplorationSummary, any Error>?>(nil)
    let task = Task {
      try await exploreSchedules(.max) { _ in caller.value?.cancel() }
    }
    caller { $0 = task }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
