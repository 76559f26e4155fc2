import ProcedureKit
import ProcedureKitDurable
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct CountedAttemptsTests {
  private let journal = InMemoryJournal()

  @Test("After a kill in the third attempt, the fourth attempt follows, and its failure is the last one")
  func attempts() async throws {
    let (attempts, decided) = (Names(), Names())
    let killed = Mutex<InMemoryJournal?>(nil)
    func upload(_ journal: InMemoryJournal) -> ProcedureTask<String, Int> {
      ProcedureTask("upload") { (_: String) -> Int in
        let attempt = ProcedureContext.current?.attempt ?? 0
        attempts.add("\(attempt)")
        if attempt == 3 {
          let copy = await journal.afterKill()
          killed.withLock { $0 = copy }
        }
        throw Problem(text: "attempt \(attempt)")
      }
      .retry(.immediate, maxAttempts: 4, countedIn: journal, as: "upload") { _, attempt in
        decided.add("\(attempt)")
        return .retry
      }
    }
    await #expect(throws: Problem.self) { try await upload(journal)("a") }
    #expect(attempts.take() == ["1", "2", "3", "4"])
    #expect(decided.take() == ["1", "2", "3"])
    let left = try #require(killed.withLock { $0 })
    let error = await #expect(throws: Problem.self) { try await upload(left)("a") }
    #expect(error?.text == "attempt 4")
    #expect(attempts.take() == ["4"])
    // The run has ended, so the next run has all attempts, and so does a run with another input.
    await #expect(throws: Problem.self) { try await upload(left)("a") }
    #expect(attempts.take() == ["1", "2", "3", "4"])
  }

  /// Returns the journal that is left behind by a body that ends its process.
  private func afterCrash(
    _ journal: InMemoryJournal,
    retrying: (ProcedureTask<Void, Void>, InMemoryJournal) -> ProcedureTask<Void, Void>
  ) async throws -> InMemoryJournal {
    let killed = Mutex<InMemoryJournal?>(nil)
    let body = ProcedureTask("crash") {
      let copy = await journal.afterKill()
      killed.withLock { $0 = copy }
    }
    try await retrying(body, journal)()
    return try #require(killed.withLock { $0 })
  }

  @Test("A body that ends its process in each attempt uses up its attempts, and the next run has all attempts again")
  func usedUp() async throws {
    var journal = journal
    for number in 1...3 {
      journal = try await afterCrash(journal) { $0.retry(.immediate, maxAttempts: 3, countedIn: $1, as: "crash") }
      #expect(await journal.entries.values.map { Int($0[0]) } == [number])
    }
    let crash = ProcedureTask("crash") {}.retry(.immediate, maxAttempts: 3, countedIn: journal, as: "crash")
    let error = await #expect(throws: RememberedFailure.self) { try await crash() }
    #expect(error?.description.contains("3 attempts were used") == true)
    try await crash()
  }

  @Test("A body that ends its process in each attempt also uses up the attempts of its schedule")
  func usedUpBySchedule() async throws {
    var journal = journal
    let schedule = Schedule.immediate.prefix(2)
    for _ in 1...3 { journal = try await afterCrash(journal) { $0.retry(schedule, countedIn: $1, as: "crash") } }
    let crash = ProcedureTask("crash") {}.retry(schedule, countedIn: journal, as: "crash")
    let error = await #expect(throws: RememberedFailure.self) { try await crash() }
    #expect(error?.description.contains("3 attempts were used") == true)
    try await crash()
  }

  @Test("A cancelled attempt does not count, but the failed attempts before it do")
  func cancelled() async throws {
    let queue = ProcedureQueue()
    let attempts = Names()
    let body = ProcedureTask("work") {
      let attempt = ProcedureContext.current?.attempt ?? 0
      attempts.add("\(attempt)")
      if attempt == 1 { throw Problem(text: "first") }
      if attempt == 2, attempts.count == 2 { ProcedureContext.current?.cancel() }
    }
    let work = body.retry(.immediate, maxAttempts: 5, countedIn: journal, as: "work")
    await #expect(throws: CancellationError.self) { try await queue.run(work) }
    try await queue.run(work)
    #expect(attempts.take() == ["1", "2", "2"])
  }

  @Test(
    "A time limit continues while no process is running, and starts again when the procedure has ended",
    arguments: [0, 1_000])
  func timeLimit(begin: Int) async throws {
    let now = Mutex(begin)
    let clock = { @Sendable in Duration.seconds(now.withLock { $0 }) }
    let journal = InMemoryJournal(now: clock)
    let killed = Mutex<InMemoryJournal?>(nil)
    func work(_ journal: InMemoryJournal) -> ProcedureTask<Void, Void> {
      ProcedureTask("work") {
        let copy = await journal.afterKill(now: clock)
        killed.withLock { $0 = copy }
      }
      .timeout(.seconds(3_600), countedIn: journal, as: "work")
    }
    try await work(journal)()
    let left = try #require(killed.withLock { $0 })
    now.withLock { $0 += 4_000 }
    let error = await #expect(throws: ProcedureError.self) { try await work(left)() }
    #expect(error?.kind == .timedOut && error?.duration == .seconds(4_000) && error?.hasStarted == false)
    // Both runs have ended.
    try await work(left)()
    try await work(journal)()
  }

  @Test("A counted retry within other modifiers has the same count in totals, metrics and events")
  func metrics() async throws {
    var configuration = ProcedureQueue.Configuration("counted")
    configuration.collectsTotals = true
    let queue = ProcedureQueue(configuration)
    let failing = Mutex(2)
    let task = ProcedureTask("flaky") {
      let fails = failing.withLock { left in
        left -= 1
        return left >= 0
      }
      if fails { throw Problem(text: "again") }
    }.retry(.constant(.milliseconds(1)), maxAttempts: 3, countedIn: journal, as: "flaky").map { $0 }.exclusive(
      "counted")
    let handle = queue.add(task.map { $0 })
    var (retries, metrics) = (0, ProcedureMetrics?.none)
    for await event in handle.events {
      if event.kind == .retrying { retries += 1 }
      if event.kind == .didFinish { metrics = event.metrics }
    }
    let totals = try #require(queue.snapshot().totals)
    #expect(retries == 2 && totals.retryCount == 2 && metrics?.attempts == 3 && totals.times == metrics)
    let paused = try #require(metrics?.paused)
    #expect(paused >= .milliseconds(2))
  }

  @Test(
    "A cancelled body that cleans up with a counted retry and a counted timeout has all attempts, and leaves no count behind"
  )
  func cleanUp() async throws {
    let (queue, attempts) = (ProcedureQueue("q"), Names())
    let isStarted = Mutex(false)
    let flaky = ProcedureTask("flaky") {
      attempts.add("\(ProcedureContext.current?.attempt ?? 0)")
      if ProcedureContext.current?.attempt != 3 { throw Problem(text: "again") }
    }.retry(.constant(.milliseconds(1)), maxAttempts: 3, countedIn: journal, as: "flaky")
    let failing = ProcedureTask("failing") { throw Problem(text: "fails") }
      .retry(.constant(.milliseconds(1)), maxAttempts: 2, countedIn: journal, as: "failing")
      .timeout(.seconds(3_600), countedIn: journal, as: "timeout")
    let errors = Names()
    let body = queue.add(
      ProcedureTask("body") { [journal] in
        isStarted.withLock { $0 = true }
        try await eventually { Task.isCancelled }
        do {
          try await flaky()
          try await failing()
        } catch {
          errors.add("\(error)")
        }
        // The numbers that the journal counts are 0 again.
        let isClean = await journal.entries.values.allSatisfy { $0.allSatisfy { $0 == 0 } }
        errors.add(isClean ? "clean" : "counted")
      })
    try await eventually { isStarted.withLock { $0 } }
    body.cancel()
    #expect(await body.outcome.isCancelled)
    #expect(attempts.take() == ["1", "2", "3"])
    #expect(errors.take() == ["clean", "fails"])
  }
}
