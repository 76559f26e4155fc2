import TestSupport
import Testing
import TestingProcedureKit

@Suite("The conformance suite finds queues that do not keep to the rules", .timeLimit(.minutes(10)))
struct ConformanceViolationTests {
  typealias Rule = ProcedureQueueConformance.Rule

  private func violation(
    of rule: Rule, patience: Duration = .seconds(600), isOnQueueExecutor: @escaping @Sendable () -> Bool = { true },
    by makeQueue: @escaping ProcedureQueueConformance.MakeQueue
  ) async throws -> ConformanceViolation {
    let suite = ProcedureQueueConformance(
      patience: patience, isOnQueueExecutor: isOnQueueExecutor, makeQueue: makeQueue)
    let found = await #expect(throws: ConformanceViolation.self) { try await suite.check(rule) }
    let violation = try #require(found)
    #expect(violation.rule == rule)
    return violation
  }

  @Test("A queue of the wrong width is found by Q1")
  func wrongWidth() async throws {
    let found = try await violation(of: .q1) { name, width, isSuspended in
      ProcedureQueue(name, maxConcurrentProcedures: max(width, width &+ 1), isSuspended: isSuspended)
    }
    #expect(found.expectation == "the width of a queue: 1" && found.observation == "2")
    #expect("\(found)".hasPrefix("rule Q1 does not hold: Never more bodies than the width"))
  }

  @Test("A queue that is suspended, or not, against the wish is found by Q2", arguments: [false, true])
  func wronglySuspended(always: Bool) async throws {
    let found = try await violation(of: .q2) { name, width, _ in
      ProcedureQueue(name, maxConcurrentProcedures: width, isSuspended: always)
    }
    #expect(found.observation == "\(always)")
  }

  @Test("A queue whose bodies execute elsewhere is found by Q6")
  func wrongExecutor() async throws {
    let found = try await violation(
      of: .q6, isOnQueueExecutor: { DispatchTaskExecutor.isCurrent },
      by: { ProcedureQueue($0, maxConcurrentProcedures: $1, isSuspended: $2) })
    #expect(found.observation == "[false, false]")
  }

  @Test("A queue that is made only once is found by Q4, when it has been shut down")
  func madeOnce() async throws {
    let queue = ProcedureQueue("the only one", maxConcurrentProcedures: 2)
    _ = try await violation(of: .q4) { _, _, _ in queue }
  }

  @Test(
    "An executor that loses its jobs is found by every rule, which tells what was waited for", arguments: Rule.allCases)
  func lostJobs(_ rule: Rule) async throws {
    let found = try await violation(of: rule, patience: .milliseconds(50)) {
      ProcedureQueue($0, maxConcurrentProcedures: $1, isSuspended: $2, executor: LosingExecutor())
    }
    #expect(found.observation.hasPrefix("not within 0.05 seconds"))
  }

  @Test("Within an exploration a violation is the failure of a schedule")
  func explored() async throws {
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await exploreSchedules(1) { env in
        try await ProcedureQueueConformance(patience: nil) { name, width, isSuspended in
          env.makeQueue(name, maxConcurrentProcedures: max(width, width &+ 1), isSuspended: isSuspended)
        }
        .checkAll()
      }
    }
    #expect("\(try #require(failure))".contains("rule"))
  }
}

/// Runs nothing.
private final class LosingExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {}
}
