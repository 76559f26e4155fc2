import Dispatch
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct PreemptionTests {
  /// A mailbox that mistakenly resumes its reader while it holds its lock.
  private final class Mailbox: Sendable {
    private struct State {
      var item: Int?
      var reader: CheckedContinuation<Int, Never>?
    }

    private let state = Mutex(State())

    func put(_ item: Int) {
      state.withLock { state in
        if let reader = state.reader { reader.resume(returning: item) } else { state.item = item }
        state.reader = nil
      }
    }

    func take() async -> Int {
      let item = await withCheckedContinuation { reader in
        state.withLock { state in
          if let item = state.item { reader.resume(returning: item) } else { state.reader = reader }
        }
      }
      return state.withLock { $0.item ?? item }
    }
  }

  private static let wakingUnderLock: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let mailbox = Mailbox()
    async let reader = mailbox.take()
    async let writer: Void = mailbox.put(7)
    env.check(await reader == 7)
    await writer
  }

  @Test("A wake under a lock of the code is not a choice, is counted, and blocks no other task")
  func wakeUnderLock() async throws {
    let summary = try await exploreSchedules(200, strategy: .mixed(), Self.wakingUnderLock)
    #expect(summary.wakesUnderLock > 0, "\(summary)")
    let all = try await exploreSchedules(100_000, strategy: .exhaustive, Self.wakingUnderLock)
    #expect(all.wakesUnderLock > 0 && all.isComplete, "\(all)")
    #expect("\(all)".contains("under a lock"))
  }

  @Test("A wake under a lock of the runtime, during a cancellation, is not a choice")
  func wakeWhileCancelling() async throws {
    let summary = try await exploreSchedules(200, strategy: .mixed()) { env in
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      let sleeper = Task(executorPreference: env.executor) {
        for await _ in stream {}
        try? await env.clock.sleep(for: .seconds(1))
        return Task.isCancelled
      }
      async let cancelling: Void = sleeper.cancel()
      env.check(await sleeper.value)
      await cancelling
      continuation.finish()
    }
    #expect(summary.distinctTraces > 1, "\(summary)")
  }

  @Test("A task that waits within an actor can also preempt its waker")
  func waitingActor() async throws {
    actor Reader {
      func first(of events: AsyncStream<Int>) async -> Int? { await events.first { _ in true } }
    }
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(200, strategy: .mixed()) { env in
        let (events, continuation) = AsyncStream.makeStream(of: Int.self)
        let changed = Locked(false)
        let reader = Reader()
        async let seen = {
          _ = await reader.first(of: events)
          return changed.value
        }()
        async let writer: Void = {
          await Task.yield()
          continuation.yield(1)
          changed { $0 = true }
        }()
        env.check(await seen, "the change comes first")
        await writer
      }
    }
    #expect("\(failure.problems)".contains("the change comes first"))
  }

  /// Notifies an observer of a change before the change.
  private static let notifyBeforeChange: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let hasChanged = Locked(false)
    let (events, notify) = AsyncStream.makeStream(of: Void.self)
    async let writer: Void = {
      notify.yield()
      hasChanged { $0 = true }
    }()
    for await _ in events { break }
    env.check(hasChanged.value, "the change comes first")
    await writer
  }

  @Test("Without preemptions, a waker is never preempted")
  func limit() async throws {
    var explorer = ScheduleExplorer(schedules: 100, strategy: .mixed())
    explorer.preemptionLimit = 0
    try await explorer.explore(Self.notifyBeforeChange)
    explorer.strategy = .exhaustive
    explorer.schedules = 10_000
    #expect(try await explorer.explore(Self.notifyBeforeChange).isComplete)
    explorer.preemptionLimit = 1
    await expectError(ExplorationFailure.self) { try await explorer.explore(Self.notifyBeforeChange) }
  }

  @Test("A step that never ends is reported, and the exploration ends")
  func hanging() async throws {
    let never = DispatchSemaphore(value: 0)
    var explorer = ScheduleExplorer(schedules: 10, strategy: .mixed())
    explorer.stepTimeout = .milliseconds(50)
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { _ in Self.block(on: never) }
    }
    #expect("\(failure.problems)".contains("did not end"), "\(failure)")
    never.signal()
  }

  private static func block(on semaphore: DispatchSemaphore) {
    semaphore.wait()
  }

  @Test("An exploration has its own threads, and does not occupy the runtime's pool")
  func ownThreads() async throws {
    let count = 2 * 64
    try await withThrowingTaskGroup(of: Void.self) { group in
      let isFree = DispatchSemaphore(value: 0)
      for _ in 0..<count {
        group.addTask { try await exploreSchedules(1) { _ in Self.block(on: isFree) } }
      }
      group.addTask { for _ in 0..<count { isFree.signal() } }
      try await group.waitForAll()
    }
  }

  @Test("With timersOvertakeWork, a due timer preempts ready work")
  func timers() async throws {
    let race: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
      let winner = Locked("")
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          for _ in 0..<10 { await Task.yield() }
          winner { if $0.isEmpty { $0 = "work" } }
        }
        group.addTask {
          try? await env.clock.sleep(for: .seconds(1))
          winner { if $0.isEmpty { $0 = "timer" } }
        }
      }
      env.tally(winner.value)
    }
    var explorer = ScheduleExplorer(schedules: 100)
    #expect(try await explorer.explore(race).tallies == ["work": 100])
    explorer.timersOvertakeWork = true
    explorer.expectedOutcomes = ["work", "timer"]
    try await explorer.explore(race)
  }
}
