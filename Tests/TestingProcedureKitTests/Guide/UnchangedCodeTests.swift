import TestSupport
import Testing
import TestingProcedureKit

/// The parts of the guide *Testing your procedures* about code that knows nothing about the exploration, and about reports.
@Suite(.timeLimit(.minutes(10))) struct UnchangedCodeTests {
  @MainActor final class SearchField {
    private(set) var shown = ""

    func ask(_ question: String) -> Task<Void, any Error> {
      Task {
        try await Task.sleep(for: .milliseconds(300))  // for example, the response of a server
        shown = question.uppercased()
      }
    }
  }

  static let search: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
    let field = SearchField()
    let first = await field.ask("cat")
    let second = await field.ask("catfish")
    _ = try await (first.value, second.value)
    env.check(await field.shown == "CATFISH", "the field shows an old answer")
  }

  @Test(
    "Sleeps, unstructured tasks and the main actor are explored",
    .enabled(if: ScheduleExplorer.controlsRealTime && ScheduleExplorer.controlsMainActor))
  func unchanged() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1_000, Self.search)
    }
    #expect("\(failure.problems)".contains("the field shows an old answer"))
    #expect(failure.failsAgain == true && failure.trace?.wakes.isEmpty == false)
  }

  @Test("An expected event is declared at the beginning")
  func eventually() async throws {
    try await exploreSchedules(100) { env in
      let isSaved = Locked(false)
      env.eventually("the document is saved") { isSaved.value }
      let queue = env.makeQueue()
      queue.add(ProcedureTask("save") { isSaved { $0 = true } })
      await queue.shutDown()
    }
  }
}
