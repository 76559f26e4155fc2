import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

@Suite("Timers under every order", .timeLimit(.atDepth))
struct TimerRuleTests {
  private func makeTimers(_ env: ExplorationEnvironment) -> Timers {
    Timers(time: QueueClock(env.clock), executor: env.executor)
  }

  private func now(_ env: ExplorationEnvironment) -> Duration { env.clock.now.offset }

  /// Waits until no other job can run. Time moves only then.
  private func settle(_ env: ExplorationEnvironment) async {
    try? await env.clock.sleep(until: env.clock.now.advanced(by: .nanoseconds(1)))
  }

  @Test("A timer that is cancelled when it is due is either called or cancelled in time, never both or neither")
  func fireOrCancel() async throws {
    try await exploreRace("called", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let timers = makeTimers(env)
      let called = Locked(false)
      let id = timers.schedule(after: .seconds(1)) { called { $0 = true } }
      try? await env.clock.sleep(until: .init(offset: .seconds(1)))
      await pause(env, upTo: 3)
      let isCancelled = timers.cancel(id)
      await settle(env)
      env.check(isCancelled != called.value, "cancelled in time: \(isCancelled), called: \(called.value)")
      env.check(!timers.cancel(id))
      env.tally(isCancelled ? "cancelled" : "called")
    }
  }

  @Test("A pause ends on time, or immediately when cancelled, and leaves nothing behind")
  func pauseOrCancel() async throws {
    try await exploreRace("over", "cancelled", schedules: TestDepth.count(2_000)) { env in
      let timers = makeTimers(env)
      let start = now(env)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
          do {
            try await timers.pause(for: .seconds(1))
            env.check(now(env) == start + .seconds(1))
            return true
          } catch {
            env.check(error is CancellationError)
            return false
          }
        }
        if env.random.below(2) == 0 { try? await env.clock.sleep(until: .init(offset: .seconds(1))) }
        await pause(env, upTo: 4)
        group.cancelAll()
        let isOver = try await group.next() ?? false
        env.tally(isOver ? "over" : "cancelled")
      }
      await settle(env)
      env.check(timers.count == 0 && env.clock.sleeperCount == 0)
    }
  }

  @Test("Each of many timers is called exactly at its deadline, while others are added and cancelled")
  func exact() async throws {
    try await exploreRace("cancelled", "too late", schedules: TestDepth.count(2_000)) { env in
      let timers = makeTimers(env)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<5 {
          group.addTask {
            for _ in 0..<2 {
              let duration = Duration.seconds(env.random.below(4))
              let deadline = now(env) + duration
              let isCancelled = env.random.below(3) == 0
              let call = Locked<Duration?>(nil)
              let id = timers.schedule(after: duration) { call { [time = now(env)] in $0 = time } }
              await pause(env, upTo: 3)
              if isCancelled {
                let isInTime = timers.cancel(id)
                env.tally(isInTime ? "cancelled" : "too late")
                if isInTime { continue }
              }
              try? await timers.pause(for: duration)
              await settle(env)
              env.check(call.value == deadline, "called at \(String(describing: call.value)), not at \(deadline)")
            }
          }
        }
      }
      env.check(timers.count == 0)
    }
  }

  @Test("One task sleeps until the earliest pending timer, and no task sleeps without timers")
  func oneSleeper() async throws {
    try await exploreRace("asleep", "no sleeper", schedules: TestDepth.count(2_000)) { env in
      let timers = makeTimers(env)
      var pending: [(id: TimerHeap.ID, deadline: Duration)] = []
      for _ in 0..<6 {
        if env.random.below(2) == 0 || pending.isEmpty {
          let duration = Duration.seconds(1 + env.random.below(5))
          pending.append((timers.schedule(after: duration) {}, now(env) + duration))
        } else {
          env.check(timers.cancel(pending.remove(at: env.random.below(pending.count)).id))
        }
        await pause(env, upTo: 2)
        env.check(env.clock.sleeperCount <= 6)
      }
      await settle(env)
      env.check(env.clock.sleeperCount == (pending.isEmpty ? 0 : 1), "\(env.clock.sleeperCount) sleep")
      env.check(env.clock.nextDeadline?.offset == pending.map(\.deadline).min())
      env.tally(pending.isEmpty ? "no sleeper" : "asleep")
    }
  }
}
