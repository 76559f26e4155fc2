import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests `stallTimeout` and `onStall`. `StallRuleTests` tests the times.
@Suite(.timeLimit(.atDepth)) struct StallTests {
  private let clock = VirtualClock()

  private func makeQueue(_ tell: @escaping @Sendable (QueueSnapshot) -> Void) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 4)
    configuration.clock = clock
    configuration.stallTimeout = .seconds(10)
    configuration.onStall = tell
    return ProcedureQueue(configuration)
  }

  @Test(
    "A body that makes no progress is reported, however it is run",
    arguments: Way.queued.filter { $0 != .copy })
  func ways(way: Way) async throws {
    let (started, hasReported, gate) = (Signal(), Signal(), Signal())
    let names = Box<[String]>([])
    let queue = makeQueue { snapshot in
      names.update { $0 += snapshot.procedures.map(\.procedure.name) }
      hasReported.set()
    }
    async let outcome = way.outcome(
      of: ProcedureTask("subject") {
        started.set()
        await gate.wait()
        return 1
      }, on: queue)
    // Without this wait, the time could pass before the subject is on the queue.
    await started.wait()
    try await clock.nextSleep()
    try await eventually {
      clock.advance(by: .seconds(10))
      return hasReported.isSet
    }
    let isInside = [.child, .node, .nodeWithInput, .element, .unorderedElement].contains(way)
    #expect(names.value == (way == .part ? ["host"] : isInside ? ["host", "subject"] : ["subject"]))
    #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
    gate.set()
    #expect(try await outcome.get() == 1)
    await queue.waitUntilIdle()
    #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
  }

  @Test("What onStall cancels has ended when cancel returns")
  func cancelled() async throws {
    let (waiting, ends) = (Box<ProcedureHandle<Void>?>(nil), Box<[Bool]>([]))
    let queue = makeQueue { _ in
      guard let handle = waiting.value else { return }
      handle.cancel()
      ends.update { $0.append(handle.state.isFinished) }
    }
    let never = Signal()
    let blocker = queue.add(ProcedureTask { await never.wait() })
    waiting.update { $0 = queue.add(ProcedureTask {}, after: [blocker]) }
    try await clock.nextSleep()
    try await eventually {
      clock.advance(by: .seconds(10))
      return !ends.value.isEmpty
    }
    #expect(ends.value.first == true)
    never.set()
    await queue.waitUntilIdle()
  }

  @Test(
    "A pause that ends at the instant of the check is not a stall", .timeLimit(.minutes(10)),
    arguments: ["delay", "retry", "repeat", "levels"], 0..<10)
  func pauseEndsAtLook(_ way: String, round: Int) async throws {
    let hasReported = Box(0)
    let queue = makeQueue { _ in hasReported.update { $0 += 1 } }
    let pause = Schedule.constant(.seconds(10))
    let calls = Box(0)
    let failing = ProcedureTask {
      calls.update { $0 += 1 }
      if calls.value < 4 { throw TestError() }
    }
    let work =
      switch way {
      case "delay": ProcedureTask {}.delay(.seconds(10)).then(ProcedureTask {}.delay(.seconds(10)))
      case "retry": failing.retry(pause)
      case "repeat": ProcedureTask {}.repeating(pause, maxCount: 4)
      default: failing.retry(pause).map {}
      }
    let handle = queue.add(work)
    var ends: [ProcedureInstant] = []
    try await eventually {
      if case .pause(let end?)? = queue.snapshot().procedures.first?.wait, !ends.contains(end) {
        ends.append(end)
        clock.advance(by: .seconds(10))
      }
      return handle.state.isFinished
    }
    try await handle.value
    #expect(hasReported.value == 0 && ends.count >= 2)
  }

  @Test("The stall check does not retain the queue, and leaves no timer")
  func lifetime() async throws {
    weak var core: QueueCore?
    do {
      let queue = makeQueue { _ in }
      core = queue.core
      let gate = Signal()
      let handle = queue.add(ProcedureTask { await gate.wait() })
      try await clock.nextSleep()
      gate.set()
      try await handle.value
      await queue.waitUntilIdle()
      #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
      queue.suspend()
      queue.add(ProcedureTask {})
      #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
    }
    try await eventually { core == nil }
  }

  @Test("Without a `stallTimeout`, nothing is checked")
  func off() async throws {
    let queue = ProcedureQueue("q", clock: clock)
    let (started, gate) = (Signal(), Signal())
    let handle = queue.add(
      ProcedureTask {
        started.set()
        await gate.wait()
      })
    await started.wait()
    #expect(queue.core.timers.count == 0)
    gate.set()
    try await handle.value
  }

  @Test("Concurrent runs leave no timer")
  func load() async throws {
    let reports = Box(0)
    let queue = makeQueue { _ in reports.update { $0 += 1 } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<TestDepth.count(2_000) { try await queue.run(ProcedureTask { await Task.yield() }) }
        }
      }
      try await group.waitForAll()
    }
    await queue.waitUntilIdle()
    #expect(queue.core.timers.count == 0 && reports.value == 0)
  }
}
