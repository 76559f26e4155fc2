import Dispatch
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ExploredMutexTests {
  private final class Shared: Sendable {
    let common = ExploredMutex(0)
    let a = ExploredMutex(0)
    let b = ExploredMutex(0)
    let c = ExploredMutex(0)
    let step = ExploredAtomic(0)
  }

  private static func explorer(_ schedules: Int = 200, checksLockOrder: Bool = false) -> ScheduleExplorer {
    var explorer = ScheduleExplorer(schedules: schedules)
    explorer.checksLockOrder = checksLockOrder
    return explorer
  }

  @Test("A deadlock of two locks is reported with the locks, the holders and the locations, and is replayed")
  func deadlock() async throws {
    for seed in 0..<10 as Range<UInt64> {
      var explorer = Self.explorer()
      explorer.seed = seed
      let failure = try await requireError(ExplorationFailure.self, "seed \(seed)") {
        try await explorer.explore { try await OppositeLocks.scenario(.broken, $0) }
      }
      #expect(failure.failsAgain == true, "seed \(seed): \(failure)")
      let deadlock = try #require(failure.deadlock, "seed \(seed): \(failure)")
      let locks = try #require(deadlock.locks)
      #expect(Set(locks.members.map(\.task)).count == 2)
      #expect(locks.members.map(\.held) == locks.members.map(\.taken).reversed())
      #expect(locks.members.allSatisfy { $0.held.contains("TestingProcedureKitTests/OppositeLocks.swift:7 (number ") })
      #expect(locks.members.allSatisfy { $0.heldSince.hasSuffix(":14") && $0.takenAt.hasSuffix(":15") }, "\(failure)")
      #expect("\(failure.problems)".contains("tasks are waiting for each other's locks"), "\(failure)")

      explorer.strategy = .replay(failure.replay)
      let again = try await requireError(ExplorationFailure.self) {
        try await explorer.explore { try await OppositeLocks.scenario(.broken, $0) }
      }
      #expect(again.order == failure.order && again.deadlock?.locks == locks)
    }
  }

  @Test("Locks that are taken in a cycle are reported, even without a deadlock, unless the check is disabled")
  func lockOrder() async throws {
    let oneAfterTheOther: @Sendable (ExplorationEnvironment) async throws -> Void = { _ in
      let shared = Shared()
      async let first: Void = shared.a.withLock { _ in shared.b.withLock { $0 += 1 } }
      await first
      async let second: Void = shared.b.withLock { _ in shared.a.withLock { $0 += 1 } }
      await second
    }
    let failure = try await requireError(ExplorationFailure.self) {
      try await Self.explorer(checksLockOrder: true).explore(oneAfterTheOther)
    }
    #expect("\(failure.problems)".contains("possible deadlock"), "\(failure)")
    #expect(failure.schedule == 0 && failure.failsAgain == true)
    try await Self.explorer().explore(oneAfterTheOther)
  }

  @Test("Locks do not form a cycle if they are taken under a common lock, or by a single task")
  func commonLock() async throws {
    try await Self.explorer(checksLockOrder: true).explore { _ in
      let shared = Shared()
      async let first: Void = shared.common.withLock { _ in shared.a.withLock { _ in shared.b.withLock { $0 += 1 } } }
      async let second: Void = shared.common.withLock { _ in shared.b.withLock { _ in shared.a.withLock { $0 += 1 } } }
      _ = await (first, second)
    }
    try await Self.explorer(checksLockOrder: true).explore { _ in
      let shared = Shared()
      shared.a.withLock { _ in shared.b.withLock { $0 += 1 } }
      shared.b.withLock { _ in shared.a.withLock { $0 += 1 } }
    }
  }

  @Test("A cycle of three locks is found")
  func threeLocks() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await Self.explorer(1_000).explore { _ in
        let shared = Shared()
        async let first: Void = shared.a.withLock { _ in shared.b.withLock { $0 += 1 } }
        async let second: Void = shared.b.withLock { _ in shared.c.withLock { $0 += 1 } }
        async let third: Void = shared.c.withLock { _ in shared.a.withLock { $0 += 1 } }
        _ = await (first, second, third)
      }
    }
    #expect(failure.deadlock?.locks?.members.count == 3, "\(failure)")
  }

  @Test(
    "Taking a lock that the task already holds is an error, but calling withLockIfAvailable is not", arguments: [0, 1])
  func recursion(first: Int) async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await Self.explorer(10).explore { env in
        guard env.schedule >= first else { return }
        let shared = Shared()
        shared.a.withLock { _ in
          env.check(shared.a.withLockIfAvailable { $0 } == nil)
          shared.a.withLock { $0 += 1 }
        }
      }
    }
    #expect(failure.deadlock?.locks?.members.count == 1, "\(failure)")
    #expect("\(failure.problems)".contains("a task requests a lock that it already holds"), "\(failure)")
  }

  @Test("withLockIfAvailable finds the lock free in some orders, and held in others")
  func ifAvailable() async throws {
    try await exploreRace("free", "held") { env in
      let shared = Shared()
      async let holder: Void = shared.a.withLock { _ in shared.step.store(1, ordering: .relaxed) }
      async let other = shared.a.withLockIfAvailable { _ in true }
      env.tally(await other == true ? "free" : "held")
      await holder
    }
  }

  @Test("A wake under an explored lock is a choice, since other tasks wait for the lock without blocking")
  func wakeUnderLock() async throws {
    let summary = try await exploreSchedules(200) { env in
      let shared = Shared()
      let events = AsyncStream.makeStream(of: Int.self)
      async let reader: Int? = {
        let event = await events.stream.first { _ in true }
        return shared.a.withLock { $0 == 0 ? nil : event }
      }()
      async let writer: Void = shared.a.withLock { value in
        events.continuation.yield(1)
        value = 1
      }
      env.check(await reader == 1)
      await writer
    }
    #expect(summary.wakesUnderLock == 0 && summary.distinctTraces > 1, "\(summary)")
  }

  @Test("A handler of a cancelled task can use an explored lock")
  func cancelHandler() async throws {
    try await exploreSchedules(200) { env in
      let shared = Shared()
      let events = AsyncStream.makeStream(of: Void.self)
      let waiting = Task(executorPreference: env.executor) {
        await withTaskCancellationHandler {
          for await _ in events.stream {}
          return shared.a.withLock { $0 }
        } onCancel: {
          shared.a.withLock { $0 += 1 }
        }
      }
      async let other: Void = shared.a.withLock { $0 += 1 }
      waiting.cancel()
      await other
      env.check(await waiting.value > 0)
    }
  }

  @Test("Outside explorations, the lock behaves like a Mutex, even with noncopyable values and typed errors")
  func outside() {
    struct Token: ~Copyable { var count = 0 }
    struct Refusal: Error {}
    let lock = ExploredMutex(Token())
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<1_000 { lock.withLock { $0.count += 1 } }
    }
    #expect(lock.withLock { $0.count } == 4_000)
    #expect(lock.withLockIfAvailable { $0.count } == 4_000)
    var isRefused = false
    do throws(Refusal) {
      try lock.withLock { _ throws(Refusal) in throw Refusal() }
    } catch {
      isRefused = true
    }
    #expect(isRefused)
  }
}
