import Foundation
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Programs from a generator", .timeLimit(.atDepth))
struct ProgramExplorerTests {
  @Test("A careless increment is found, and simplified to two or three commands", arguments: 0..<5 as Range<UInt64>)
  func careless(seed: UInt64) async throws {
    let specification = RegisterSpecification(isCareless: true)
    let failure = try await requireError(ProgramFailure<RegisterSpecification.Command>.self) {
      try await explorePrograms(of: specification, programs: 100, seed: seed)
    }
    #expect(failure.program.commandCount <= 3, "\(failure)")
    #expect(failure.program.tasks.count == 2)
    #expect("\(failure.failure.problems)".contains("no order of the commands explains the responses"))
    #expect("\(failure.failure.notes)".contains("→"))

    var explorer = ProgramExplorer(of: specification)
    explorer.explorer.strategy = .replay(failure.failure.replay)
    let again = try await requireError(ProgramFailure<RegisterSpecification.Command>.self) {
      try await explorer.explore(failure.program)
    }
    #expect(again.failure.notes == failure.failure.notes)
  }

  @Test("A correct actor passes")
  func correct() async throws {
    let programs = TestDepth.count(200)
    let summary = try await explorePrograms(of: RegisterSpecification(isCareless: false), programs: programs)
    #expect(summary.schedules == programs * 20)
  }

  @Test("Equal seeds generate equal programs")
  func equalPrograms() async throws {
    var failures: Set<String> = []
    for _ in 0..<2 {
      let failure = await expectError(ProgramFailure<RegisterSpecification.Command>.self) {
        try await explorePrograms(of: RegisterSpecification(isCareless: true), seed: 5)
      }
      let found = try #require(failure)
      failures.insert("\(found.program) \(found.failure.problems) \(found.failure.order) \(found.failure.replay)")
    }
    #expect(failures.count == 1)
  }

  /// Returns everything that identifies a failing program and its schedule.
  private static func identity(of failure: ProgramFailure<RegisterSpecification.Command>) -> String {
    "\(failure.seed) \(failure.number, default: "") \(failure.failure.replay)\n\(failure.program)"
  }

  @Test("The environment variable in the last line of a report repeats the program in another process")
  func environment() async throws {
    let failure = try await requireError(ProgramFailure<RegisterSpecification.Command>.self) {
      try await explorePrograms(of: RegisterSpecification(isCareless: true), seed: 5)
    }
    let number = try #require(failure.number)
    // The last line does not depend on the steps, whose places take long to look up.
    var report = failure
    report.failure.trace = nil
    #expect("\(report)".hasSuffix("\n  repeat: PROCEDUREKIT_PROGRAM='5:\(number)' swift test"), "\(failure)")
    await #expect(processExitsWith: .success) {
      [identity = Self.identity(of: failure) as String, number = number as Int] in
      setenv("PROCEDUREKIT_PROGRAM", "5:\(number)", 1)
      let again = await expectError(ProgramFailure<RegisterSpecification.Command>.self) {
        try await explorePrograms(of: RegisterSpecification(isCareless: true), programs: 1)
      }
      #expect(again.map(ProgramExplorerTests.identity) == identity)
      setenv("PROCEDUREKIT_PROGRAM", "5", 1)
      let malformed = await #expect(throws: (any Error).self) { try await explorePrograms(of: Invariant()) }
      #expect("\(malformed, default: "")".hasPrefix("PROCEDUREKIT_PROGRAM is \"5\""))
      setenv("PROCEDUREKIT_PROGRAM", "0:7", 1)
      let summary = try await explorePrograms(of: RegisterSpecification(isCareless: false))
      #expect(summary.schedules == 20)
    }
  }

  /// Programs whose condition is an invariant, without a model.
  private struct Invariant: ProgramSpecification {
    func makeSystem(_ env: ExplorationEnvironment) -> Register { Register() }
    func makeCommand(using random: inout SeededGenerator) -> Int { random.below(10) }

    func execute(_ command: Int, on register: Register, _ env: ExplorationEnvironment) async {
      _ = await register.add(command)
    }

    func check(
      _ history: ProgramHistory<Int, Void>, of register: Register, _ env: ExplorationEnvironment
    ) async throws {
      let sum = history.calls.reduce(0) { $0 + $1.command }
      env.check(await register.read() == sum)
      env.check(sum < 20, "too much")
    }
  }

  /// Programs whose system uses random numbers without a seed.
  private struct Luck: ProgramSpecification {
    func makeSystem(_ env: ExplorationEnvironment) {}
    func makeCommand(using random: inout SeededGenerator) {}
    func execute(_ command: Void, on system: Void, _ env: ExplorationEnvironment) async {
      for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
    }
  }

  @Test("Nondeterministic programs are found, even though each is run in only a few schedules")
  func luck() async throws {
    let failure = try await requireError(ProgramFailure<Void>.self) { try await explorePrograms(of: Luck()) }
    guard case .nondeterminism = failure.failure.problems.first else {
      Issue.record("\(failure)")
      return
    }
    #expect(failure.program.commandCount == failure.originalCommandCount)
  }

  @Test("An invariant is checked after each execution, and its violation is simplified")
  func invariant() async throws {
    let failure = try await requireError(ProgramFailure<Int>.self) {
      try await explorePrograms(of: Invariant())
    }
    let sum = failure.program.tasks.joined().reduce(0, +)
    #expect(sum >= 20 && failure.program.tasks.joined().allSatisfy { sum - $0 < 20 }, "\(failure)")
  }
}
