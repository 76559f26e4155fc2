import TestSupport
import Testing
import TestingProcedureKit

/// A stack whose `pop` reads the top element first and removes it later.
actor Stack {
  private var elements: [Int] = []

  func push(_ element: Int) { elements.append(element) }
  var top: Int? { elements.last }
  func removeTop() { _ = elements.popLast() }

  nonisolated func pop() async -> Int? {
    guard let element = await top else { return nil }
    await removeTop()
    return element
  }
}

/// Programs of pushes and pops.
struct StackPrograms: SequentialSpecification {
  enum Command: Sendable {
    case push(Int)
    case pop
  }

  func makeSystem(_ env: ExplorationEnvironment) -> Stack { Stack() }

  func makeCommand(using random: inout SeededGenerator) -> Command {
    random.below(2) == 0 ? .push(random.below(10)) : .pop
  }

  func execute(_ command: Command, on stack: Stack, _ env: ExplorationEnvironment) async -> Int? {
    switch command {
    case .push(let element):
      await stack.push(element)
      return nil
    case .pop:
      return await stack.pop()
    }
  }

  // The behaviour of a correct stack.
  func makeModel() -> [Int] { [] }

  func respond(to command: Command, _ elements: inout [Int]) -> Int? {
    switch command {
    case .push(let element):
      elements.append(element)
      return nil
    case .pop:
      return elements.popLast()
    }
  }
}

/// The part of the guide *Testing your procedures* about programs from a generator.
@Suite(.timeLimit(.minutes(10))) struct ProgramsTests {
  @Test("The bug in a stack that reads first and removes later is found")
  func stack() async throws {
    let failure = try await requireError(ProgramFailure<StackPrograms.Command>.self) {
      try await explorePrograms(of: StackPrograms())
    }
    #expect(failure.program.commandCount <= 3, "\(failure)")

    var explorer = ProgramExplorer(of: StackPrograms())
    explorer.explorer.strategy = .replay(failure.failure.replay)
    await #expect(throws: ProgramFailure<StackPrograms.Command>.self) {
      try await explorer.explore(failure.program)
    }
  }
}
