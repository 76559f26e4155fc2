import Dispatch
import ProcedureKit
import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct FailureReportTests {
  /// A body that fails if the last child runs first and the first child runs last, which are two constraints among thirty yields.
  private static let reversed: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let reached = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for (name, needed) in [("first", 2), ("second", 1), ("third", 0)] {
        group.addTask {
          for _ in 0..<5 { await Task.yield() }
          reached { if $0 == needed { $0 += 1 } }
          env.note("\(name) is through")
          for _ in 0..<5 { await Task.yield() }
        }
      }
    }
    env.check(reached.value < 3, "the order is reversed")
  }

  @Test(
    "A failure is reduced to the few switches that it needs",
    arguments: 0..<UInt64(TestDepth.isAtLeastGate ? 10 : 2) as Range<UInt64>)
  func shrinking(seed: UInt64) async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(10_000, seed: seed, Self.reversed)
    }
    #expect(failure.deviations.reported <= 4, "seed \(seed): \(failure)")
    let trace = try #require(failure.trace)
    #expect(zip(failure.order, failure.order.dropFirst()).count { $0 != $1 } <= 8, "seed \(seed): \(failure)")
    #expect(
      trace.stretches.map { Array(repeating: $0.task, count: $0.steps.count) }.joined().elementsEqual(failure.order))
  }

  @Test("A check that fails on a thread that the schedule does not control is reported, and marks no step")
  func foreignThread() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1) { env in Self.callElsewhere { env.check(false, "elsewhere") } }
    }
    #expect("\(failure.problems)".contains("elsewhere"), "\(failure)")
    let trace = try #require(failure.trace)
    #expect(trace.stretches { $0.events.contains { $0.contains("elsewhere") } }.isEmpty, "\(failure)")
  }

  /// Calls a function on another thread, and waits for it.
  private static func callElsewhere(_ function: @escaping @Sendable () -> Void) {
    let hasReturned = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      function()
      hasReturned.signal()
    }
    hasReturned.wait()
  }

  @Test("The report shows the events of each task, in order")
  func table() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules { env in
        async let child: Void = env.note("in the child")
        await child
        env.check(false, "always")
      }
    }
    #expect(failure.deviations.reported == 0)
    let report = "\(failure)"
    #expect(report.hasPrefix("There is an order of your tasks in which this expectation fails, without a switch:\n"))
    #expect(report.contains("this order failed again when the explorer repeated it"))
    let trace = try #require(failure.trace)
    #expect(trace.stretches.first { $0.task == 1 }?.events.contains("note: in the child") == true, "\(report)")
    #expect(trace.stretches.last?.events.last == "check failed: always", "\(report)")
    #expect(trace.stretches.first?.events.first?.hasPrefix("starts task 1") == true, "\(report)")
    #expect(trace.json.hasPrefix(#"[{"from":1,"to":1,"task":0,"#), "\(trace.json)")
  }

  @Test("The report says whether the explorer had a choice between tasks")
  func choices() async throws {
    let sentence = "the explorer had no choice between tasks in this schedule"
    let single = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules { env in
        await Task.yield()
        env.check(false, "always")
      }
    }
    #expect(!single.hasChoices && single.reportWithoutSteps.contains(sentence), "\(single)")
    #expect(single.json.contains(#""hasChoices":false,"#))
    let concurrent = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules { env in
        async let child: Void = Task.yield()
        await child
        env.check(false, "always")
      }
    }
    #expect(concurrent.hasChoices && !concurrent.reportWithoutSteps.contains(sentence), "\(concurrent)")
  }

  @Test("The messages of queues go to the trace of a schedule, not to the log of the process")
  func messages() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules { env in
        struct Lost: Error {}
        let queue = env.makeQueue("uploads")
        queue.add(ProcedureTask("upload") { throw Lost() })
        await queue.waitUntilIdle()
        env.check(false, "always")
      }
    }
    let steps = try #require(failure.trace).stretches { $0.events.contains { $0.hasPrefix("warning: ") } }
    let message = try #require(steps.first?.events.first { $0.hasPrefix("warning: ") })
    #expect(message.contains("\"upload\"") && message.contains("failed") && message.contains("Lost()"), "\(failure)")
  }

  @Test("A trace shows names, and escapes any text in JSON")
  func names() {
    var trace = ScheduleTrace()
    trace.didRun(0, step: 1)
    trace.didRun(3, step: 2)
    trace.add("note: \"a\"\n\\")
    trace.didRun(3, step: 3)
    trace.names[3] = "writer"
    #expect(
      "\(trace)" == """
          step  task        events
             1  0 (body)
           2–3  3 "writer"  note: "a" \\
        """)
    #expect(
      trace.json == #"[{"from":1,"to":1,"task":0,"isSwitch":false,"events":[]},"#
        + #"{"from":2,"to":3,"task":3,"isSwitch":false,"name":"writer","events":["note: \"a\"\u000a\\"]}]"#)
  }
}
