import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// A queue without progress reports a stall.
@Suite(.timeLimit(.atDepth)) struct StallRuleTests {
  /// The times at which a queue has reported a stall, and the snapshots.
  private typealias Reports = Locked<[(at: Duration, snapshot: QueueSnapshot)]>

  private func makeQueue(
    _ env: ExplorationEnvironment, _ reports: Reports, width: Int = .max, isSuspended: Bool = false
  ) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: width, isSuspended: isSuspended)
    configuration.stallTimeout = .seconds(10)
    configuration.onStall = { [clock = env.clock] snapshot in
      let time = clock.now.offset
      reports { $0.append((time, snapshot)) }
    }
    return env.makeQueue(configuration)
  }

  private func body(_ name: String, until time: Duration, _ env: ExplorationEnvironment) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { await env.wait(until: time) }
  }

  @Test("A stall is reported once, with the waits, and again only after some progress")
  func once() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let reports = Reports([])
      let queue = makeQueue(env, reports, width: 1)
      let first = queue.add(body("first", until: .seconds(95), env))
      let second = queue.add(body("second", until: .seconds(200), env))
      try await second.value
      let seconds = reports.value.map { $0.at }
      guard seconds.count == 2 else { return env.check(false, "\(seconds)") }
      env.check(seconds[0] >= .seconds(10) && seconds[0] <= .seconds(20), "\(seconds)")
      env.check(seconds[1] >= .seconds(105) && seconds[1] <= .seconds(115), "\(seconds)")
      env.check(reports.value[0].snapshot.procedures.map(\.procedure) == [first.identity, second.identity])
      env.check(reports.value[0].snapshot.procedures.map(\.wait) == [nil, .slot])
      env.check(reports.value[1].snapshot.procedures.map(\.procedure) == [second.identity])
      await queue.shutDown()
    }
  }

  @Test("Progress hides a stall, but admissions do not")
  func arrivals() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let reports = Reports([])
      let stuck = makeQueue(env, reports, width: 1)
      let moves = makeQueue(env, reports, width: 1)
      stuck.add(body("stuck", until: .seconds(40), env))
      for number in 1...9 {
        stuck.add(ProcedureTask {})
        moves.add(body("short", until: .seconds(number * 4 + 4), env))
        await env.wait(until: .seconds(number * 4))
      }
      await stuck.shutDown()
      await moves.shutDown()
      env.check(reports.value.count == 1 && reports.value.allSatisfy { $0.at <= .seconds(20) }, "\(reports.value)")
      env.check(reports.value.first?.snapshot.procedures.first?.procedure.name == "stuck")
    }
  }

  @Test("A queue that is suspended or waits for a timer has not stalled; its stall is measured from then on")
  func timers() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let reports = Reports([])
      let queue = makeQueue(env, reports, isSuspended: true)
      queue.add(body("stuck", until: .seconds(200), env))
      await env.wait(until: .seconds(35))
      queue.resume()
      queue.add(ProcedureTask {}.delay(.seconds(40)))
      queue.add(body("limited", until: .seconds(90), env).timeout(.seconds(100)))
      await env.wait(until: .seconds(180))
      // There has been no progress since second 90, and the timer of that instant has been removed.
      let seconds = reports.value.map { $0.at }
      env.check(seconds.count == 1 && seconds[0] > .seconds(100) && seconds[0] <= .seconds(110), "\(seconds)")
      queue.suspend()
      await env.wait(until: .seconds(199))
      await queue.shutDown()
      env.check(reports.value.count == 1)
    }
  }

  @Test("Nodes of a graph, attempts, and waits of a body count as progress")
  func moves() async throws {
    try await exploreSchedules(TestDepth.count(300)) { env in
      let reports = Reports([])
      let queue = makeQueue(env, reports)
      let graph = ProcedureGraph("chain", returning: Void.self) { g in
        var last = g.add(body("n1", until: .seconds(8), env))
        for number in 2...6 { last = g.add(body("n\(number)", until: .seconds(number * 8), env), after: [last]) }
      }
      try await queue.run(graph)
      let loop = ProcedureTask("loop") {
        for number in 1...4 { try await queue.run(body("part", until: .seconds(48 + number * 8), env)) }
      }
      try await queue.run(loop)
      let other = env.makeQueue("other")
      let awaits = ProcedureTask("awaits") {
        for number in 1...4 { try await other.add(body("other", until: .seconds(80 + number * 8), env)).value }
      }
      try await queue.run(awaits)
      env.check(env.elapsed == .seconds(112) && reports.value.isEmpty, "\(reports.value)")
      await queue.shutDown()
      await other.shutDown()
    }
  }

  @Test("In every order of admissions, ends, suspensions and checks, no timer remains, and no idle queue is reported")
  func races() async throws {
    try await exploreSchedules(TestDepth.count(2_000)) { env in
      let reports = Reports([])
      let queue = makeQueue(env, reports, width: 2)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            for _ in 0..<3 {
              await env.wait(until: env.elapsed + .seconds(env.randomNumber(below: 3) * 5))
              _ = try? await queue.run(
                body("short", until: env.elapsed + .seconds(env.randomNumber(below: 3) * 5), env))
            }
          }
        }
        group.addTask {
          await env.wait(until: .seconds(env.randomNumber(below: 4) * 5))
          queue.suspend()
          await env.wait(until: env.elapsed + .seconds(5))
          queue.resume()
        }
      }
      await queue.waitUntilIdle()
      for report in reports.value {
        env.check(!report.snapshot.procedures.isEmpty && !report.snapshot.isSuspended, "\(report)")
      }
      env.check(env.clock.sleeperCount == 0)
      await queue.shutDown()
    }
  }
}
