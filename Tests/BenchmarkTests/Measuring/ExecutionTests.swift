import Testing

@testable import Benchmark

@Suite(.timeLimit(.minutes(10))) struct ExecutionTests {
  @Test("The parent process reads the numbers that its child prints", arguments: [[300.5, -0.25], [1], []])
  func line(_ costs: [Double]) {
    #expect(Execution.costs(in: Execution.line(costs) + "\n") == costs)
  }

  @Test("Any other output is not read as numbers", arguments: ["one", "1 two 3", "1,5"])
  func nonsense(_ output: String) {
    #expect(Execution.costs(in: output) == nil)
  }

  @Test("A contestant that does not exist is an error", arguments: [("W99", "run"), ("W1", "walk")])
  func unknown(_ workload: String, _ contestant: String) async {
    await #expect(throws: UsageError.unknownContestant(contestant, workload: workload)) {
      try await Execution(workload: workload, contestant: contestant, units: 1, times: 1).costs()
    }
  }
}
