import Testing

@testable import TestingProcedureKit

@Suite struct ProgramShrinkerTests {
  /// Simplifies a program while it fails.
  private func shrunk(_ program: Program<Int>, fails: (Program<Int>) -> Bool) -> [[Int]] {
    var shrinker = ProgramShrinker(failing: program) { $0 > 0 ? [0, $0 - 1] : [] }
    while let candidate = shrinker.candidate {
      if fails(candidate) { shrinker.candidateFailed() } else { shrinker.candidatePassed() }
    }
    return shrinker.program.tasks
  }

  @Test("Irrelevant tasks and commands are removed, and commands are simplified")
  func shrinking() {
    let program = Program([[5, 3, 9], [1, 2, 3, 4, 8, 6], [7]])
    #expect(shrunk(program) { $0.tasks.contains { $0.contains { $0 >= 8 } } } == [[8]])
    #expect(shrunk(program) { $0.tasks.count >= 2 && $0.commandCount >= 3 }.map(\.count).sorted() == [1, 2])
    #expect(shrunk(program) { _ in true } == [[0]])
  }

  @Test("A program that cannot be simplified is not changed")
  func minimal() {
    let tasks = [[1, 2], [3]]
    #expect(shrunk(Program(tasks)) { $0.tasks == tasks } == tasks)
  }
}
