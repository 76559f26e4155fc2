import ProcedureKit
import ProcedureKitDiagnostics
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ActivityCounterTests {
  private struct Failure: Error {}

  @Test("The counter is active while a procedure executes, even if it fails, and idle after the delay")
  func delay() async throws {
    let clock = VirtualClock()
    let counter = ActivityCounter(idleAfter: .seconds(2), clock: clock)
    var changes = counter.changes.makeAsyncIterator()
    #expect(await changes.next() == false)
    let work = ProcedureTask<Void, Void>("work") { #expect(counter.count == 1 && counter.isActive) }
    try await work.counted(by: counter)()
    #expect(counter.count == 0 && counter.isActive)
    #expect(await changes.next() == true)
    try await clock.nextSleep()
    clock.advance(by: .seconds(1))
    let failing = ProcedureTask<Void, Void>("failing") { throw Failure() }
    await #expect(throws: (any Error).self) { try await failing.counted(by: counter)() }
    try await clock.nextSleep()
    clock.advance(by: .seconds(1.5))
    #expect(counter.isActive, "The delay begins again with each end")
    clock.advance(by: .seconds(0.5))
    #expect(await changes.next() == false)
    #expect(!counter.isActive)
  }

  @Test("Work that begins within the delay causes no change")
  func noFlicker() async throws {
    let clock = VirtualClock()
    let counter = ActivityCounter(idleAfter: .seconds(1), clock: clock)
    var changes = counter.changes.makeAsyncIterator()
    #expect(await changes.next() == false)
    for _ in 0..<10 {
      await counter.during {}
      try await clock.nextSleep()
      clock.advance(by: .seconds(0.9))
    }
    #expect(await changes.next() == true)
    clock.advance(by: .seconds(1))
    #expect(await changes.next() == false)
  }

  @Test("All attempts of a retry count as one procedure, and a cancelled procedure no longer counts")
  func attempts() async throws {
    let counter = ActivityCounter(idleAfter: .zero)
    let counts = Tally()
    let work = ProcedureTask<Void, Void>("work") {
      await counts.add(counter.count)
      throw Failure()
    }
    _ = try? await work.retry(.constant(.zero), maxAttempts: 3).counted(by: counter)()
    #expect(await counts.values == [1, 1, 1])
    #expect(counter.count == 0 && !counter.isActive)

    let entered = AsyncStream.makeStream(of: Void.self)
    let endless = ProcedureTask<Void, Void>("endless") {
      entered.continuation.yield()
      try await VirtualClock().sleep(for: .seconds(1))
    }
    let queue = ProcedureQueue("q")
    let handle = queue.add(endless.counted(by: counter))
    for await _ in entered.stream { break }
    #expect(counter.count == 1)
    handle.cancel()
    _ = await handle.outcome
    #expect(counter.count == 0 && !counter.isActive)
  }

  @Test("A subscription ends with the counter, and an abandoned one retains nothing")
  func end() async {
    weak var gone: ActivityCounter?
    do {
      let counter = ActivityCounter()
      gone = counter
      _ = counter.changes
      let changes = counter.changes
      await counter.during {}
      _ = consume counter
      var values: [Bool] = []
      for await value in changes { values.append(value) }
      #expect(values == [true])
    }
    #expect(gone == nil)
  }

  private actor Tally {
    var values: [Int] = []
    func add(_ value: Int) { values.append(value) }
  }

  @Test("A delay can have any length")
  func extremes() async throws {
    for delay in [Duration.seconds(Int64.max), Duration(attoseconds: .max)] {
      let counter = ActivityCounter(idleAfter: delay)
      await counter.during {}
      for _ in 0..<100 { await Task.yield() }
      #expect(counter.isActive)
    }
    let counter = ActivityCounter(idleAfter: Duration(attoseconds: .min))
    await counter.during {}
    #expect(!counter.isActive)
  }
}
