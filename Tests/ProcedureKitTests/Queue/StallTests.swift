import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// `stallTimeout` and `onStall`; the times are those of `StallRuleTests`.
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
    "L5: a body that does not go on is reported, whatever way it is run",
    arguments: Way.queued.filter { $0 != .copy })
  func ways(way: Way) async throws {
    let (told, goOn) = (Signal(), Signal())
    let names = Box<[String]>([])
    let queue = makeQueue { snapshot in
      names.update { $0 += snapshot.procedures.map(\.procedure.name) }
      told.set()
    }
    async let outcome = way.outcome(
      of: ProcedureTask("subject") {
        await goOn.wait()
        return 1
      }, on: queue)
    try await clock.nextSleep()
    try await eventually {
      clock.advance(by: .seconds(10))
      return told.isSet
    }
    let isInside = [.child, .node, .nodeWithInput, .element, .unorderedElement].contains(way)
    #expect(names.value == (way == .part ? ["host"] : isInside ? ["host", "subject"] : ["subject"]))
    #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
    goOn.set()
    #expect(try await outcome.get() == 1)
    await queue.waitUntilIdle()
    #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
  }

  @Test("The watch keeps no queue, and leaves no timer behind")
  func lifetime() async throws {
    weak var core: QueueCore?
    do {
      let queue = makeQueue { _ in }
      core = queue.core
      let goOn = Signal()
      let handle = queue.add(ProcedureTask { await goOn.wait() })
      try await clock.nextSleep()
      goOn.set()
      try await handle.value
      await queue.waitUntilIdle()
      #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
      await queue.suspend()
      queue.add(ProcedureTask {})
      #expect(clock.sleeperCount == 0 && queue.core.timers.count == 0)
    }
    try await eventually { core == nil }
  }

  @Test("Without a time, nothing is watched")
  func off() async throws {
    let queue = ProcedureQueue("q", clock: clock)
    let (started, goOn) = (Signal(), Signal())
    let handle = queue.add(
      ProcedureTask {
        started.set()
        await goOn.wait()
      })
    await started.wait()
    #expect(queue.core.timers.count == 0)
    goOn.set()
    try await handle.value
  }

  @Test("Runs that come and end at the same time leave no timer")
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
