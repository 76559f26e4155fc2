import ProcedureKit
import ProcedureKitDurable
import ProcedureKitFoundation
import Synchronization
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct RememberedTests {
  private let journal = InMemoryJournal()
  private let count = Counter()

  private var double: ProcedureTask<Int, Int> {
    ProcedureTask("double") { [count] number in
      count.add()
      if number < 0 { throw Problem(text: "negative") }
      return number * 2
    }
  }

  @Test("A value is remembered for each input, version and name, and costs one append")
  func values() async throws {
    let remembered = double.remembered(in: journal, as: "double")
    #expect(try await remembered(2) == 4)
    #expect(try await remembered(2) == 4)
    #expect(count.now == 1)
    #expect(await journal.appendCount == 1)
    #expect(try await remembered(3) == 6)
    #expect(try await double.remembered(in: journal, as: "double", version: 2)(2) == 4)
    #expect(try await double.remembered(in: journal, as: "other")(2) == 4)
    #expect(count.now == 4)
  }

  @Test(
    "A cancellation does not cut short the write to a journal that checks for cancellation", arguments: [false, true])
  func shielded(isGraph: Bool) async throws {
    try await exploreRace("before", "during", schedules: 200) { env in
      let queue = env.makeQueue()
      let journal = SlowJournal(clock: env.clock)
      let double = ProcedureTask("double") { 2 }
      let task =
        isGraph
        ? ProcedureGraph("graph") { $0.add(double) }.durable(in: journal, as: "graph").procedureTask
        : double.remembered(in: journal, as: "double")
      let end = Task(executorPreference: env.executor) { try await queue.run(task) }
      for _ in 0..<env.random.below(30) { await Task.yield() }
      let isAppending = journal.isAppending
      end.cancel()
      _ = await end.result
      let count = await journal.entries.appendCount
      env.check(count == (journal.isAppending ? 1 : 0), "\(count)")
      env.tally(isAppending ? "during" : "before")
      await queue.shutDown()
    }
  }

  @Test("A run that finds its value reports this in its events, and does not retry")
  func events() async throws {
    let queue = ProcedureQueue()
    let remembered = double.retry(.immediate).remembered(in: journal, as: "double")
    _ = try await queue.run(remembered, input: 1)
    let handle = queue.add(remembered, input: 1)
    #expect(try await handle.value == 2)
    let events = await handle.events.reduce(into: []) { $0.append($1) }
    #expect(events.map(\.kind) == [.didAttach, .reused, .willFinish, .didFinish])
    #expect("\(events[1])".hasSuffix(" reused(by: \"memory\")"))
  }

  @Test("A failed procedure is executed again, unless failures are remembered")
  func failures() async throws {
    let plain = double.remembered(in: journal, as: "double")
    for _ in 0..<2 { await #expect(throws: Problem.self) { try await plain(-1) } }
    #expect(count.now == 2)
    let failing = double.remembered(in: journal, as: "double", rememberingFailures: true)
    await #expect(throws: Problem.self) { try await failing(-1) }
    let error = await #expect(throws: RememberedFailure.self) { try await failing(-1) }
    #expect(error == RememberedFailure(path: "double", description: "negative"))
    #expect(count.now == 3)
    await #expect(throws: Problem.self) { try await plain(-1) }
  }

  @Test("A refused call is not remembered as a failure: the body has not been executed", arguments: [false, true])
  func refused(isInGraph: Bool) async throws {
    let limiter = RateLimiter(1, per: .seconds(3_600), burst: 1, longestWait: .zero)
    let limited = ProcedureTask("limited") { [count] in count.add() }.rateLimited(limiter)
    let remembered =
      isInGraph
      ? ProcedureGraph("graph") { g in g.add(limited) }.durable(in: journal, rememberingFailures: true).procedureTask
      : limited.remembered(in: journal, as: "limited", rememberingFailures: true)
    // Another caller uses up the limit.
    try await limited()
    for _ in 0..<2 {
      let error = await #expect(throws: ProcedureError.self) { try await remembered() }
      #expect(error?.kind == .rateExceeded)
    }
    #expect(count.now == 1)
    #expect(await journal.appendCount == 0)
  }

  @Test("A cancelled run is not remembered")
  func cancelled() async throws {
    let queue = ProcedureQueue()
    let stopped = ProcedureTask { (number: Int) in
      ProcedureContext.current?.cancel()
      return number
    }
    let remembered = stopped.remembered(in: journal, as: "stopped", rememberingFailures: true)
    await #expect(throws: CancellationError.self) { try await queue.run(remembered, input: 1) }
    #expect(await journal.appendCount == 0)
  }

  @Test("A procedure without an input or a value is remembered as finished")
  func void() async throws {
    let work = ProcedureTask("work") { [count] in count.add() }.remembered(in: journal, as: "work")
    let number = ProcedureTask("number") { [count] in count.add(by: 10) }.map { 7 }.remembered(
      in: journal, as: "number")
    let print = ProcedureTask("print") { [count] (_: String) in count.add(by: 100) }.remembered(
      in: journal, as: "print")
    for _ in 0..<3 {
      try await work()
      #expect(try await number() == 7)
      try await print("a")
    }
    #expect(count.now == 111)
  }

  @Test(
    "An append that fails makes the procedure fail, and the error of an undecodable value contains advice")
  func errors() async throws {
    let full = FullJournal(journal, room: 0)
    await #expect(throws: Problem.self) { try await double.remembered(in: full, as: "double")(1) }
    #expect(try await double.remembered(in: journal, as: "double")(1) == 2)
    let text = double.map { "\($0)" }.remembered(in: journal, as: "double")
    let error = await #expect(throws: JournalError.self) { try await text(1) }
    #expect(error?.kind == .valueNotDecodable)
    #expect("\(error!)".hasSuffix(". Increase the version if the type has changed"))
  }
}

/// A journal whose writes take a second, and end early in a cancelled task.
private final class SlowJournal: ProcedureJournal {
  let name = "slow"
  let coder: any ProcedureCoder = JSONProcedureCoder()
  let entries = InMemoryJournal()
  private let clock: VirtualClock
  private let hasBegun = Mutex(false)

  init(clock: VirtualClock) { self.clock = clock }

  /// Whether a write has begun.
  var isAppending: Bool { hasBegun.withLock { $0 } }
  var timeSince1970: Duration { .zero }

  func append(_ bytes: [UInt8], for key: JournalKey) async throws {
    hasBegun.withLock { $0 = true }
    try await clock.sleep(for: .seconds(1))
    // A journal can use procedures, whose waits also end if the run is cancelled.
    _ = try await ProcedureContext.current?.produce(ProcedureTask("write") {}).value
    if ProcedureContext.current?.isCancelled == true { throw CancellationError() }
    await entries.append(bytes, for: key)
  }

  func read(_ key: JournalKey) async throws -> [UInt8]? { await entries.read(key) }
}
