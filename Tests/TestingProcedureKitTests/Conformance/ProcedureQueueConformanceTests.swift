import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct ProcedureQueueConformanceTests {
  typealias Rule = ProcedureQueueConformance.Rule

  @Test("A plain queue keeps to every rule", arguments: Rule.allCases)
  func plain(_ rule: Rule) async throws {
    try await ProcedureQueueConformance(patience: nil) { name, width, isSuspended in
      ProcedureQueue(name, maxConcurrentProcedures: width, isSuspended: isSuspended)
    }
    .check(rule)
  }

  @Test("A queue with an executor of its own keeps to every rule", arguments: Rule.allCases)
  func customExecutor(_ rule: Rule) async throws {
    let executor = DispatchTaskExecutor()
    let suite = ProcedureQueueConformance(
      patience: nil, isOnQueueExecutor: { DispatchTaskExecutor.isCurrent },
      makeQueue: { ProcedureQueue($0, maxConcurrentProcedures: $1, isSuspended: $2, executor: executor) })
    try await suite.check(rule)
  }

  @Test("A queue with a virtual clock, whose time nobody moves, keeps to every rule")
  func virtualClock() async throws {
    try await ProcedureQueueConformance(patience: nil) {
      ProcedureQueue($0, maxConcurrentProcedures: $1, isSuspended: $2, clock: VirtualClock())
    }
    .checkAll()
  }

  @Test("Every rule holds under every order", arguments: Rule.allCases)
  func explored(_ rule: Rule) async throws {
    try await exploreSchedules(TestDepth.count(200), strategy: .mixed()) { env in
      try await ProcedureQueueConformance(patience: nil) {
        env.makeQueue($0, maxConcurrentProcedures: $1, isSuspended: $2)
      }
      .check(rule)
    }
  }

  @Test("Rules have their numbers, and a sentence each")
  func rules() {
    #expect(Rule.allCases.map(\.id).prefix(3) == ["L1", "L2", "L4"])
    #expect(Set(Rule.allCases.map(\.statement)).count == Rule.allCases.count)
    #expect(Rule.allCases.allSatisfy { $0.statement.hasSuffix(".") && $0.description == "\($0.id): \($0.statement)" })
  }
}
