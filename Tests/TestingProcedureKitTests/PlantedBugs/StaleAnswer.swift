import TestingProcedureKit

/// A search field on the main actor that shows the last response to arrive instead of the response to the last query.
///
/// The code knows nothing about the exploration: it uses unstructured tasks, real sleeps and the main actor.
actor StaleAnswer: PlantedBug {
  @MainActor private final class Field {
    private(set) var shown = ""
    private var question = ""
    private let checksQuestion: Bool

    init(checksQuestion: Bool) { self.checksQuestion = checksQuestion }

    func ask(_ question: String) -> Task<Void, any Error> {
      self.question = question
      return Task {
        let answer = try await answer(to: question)
        if checksQuestion, self.question != question { return }
        shown = answer
      }
    }

    private func answer(to question: String) async throws -> String {
      try await Task.sleep(for: .seconds(10))
      return question.uppercased()
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let field = await Field(checksQuestion: version == .fixed)
    let first = await field.ask("cat")
    let second = await field.ask("catfish")
    _ = try await (first.value, second.value)
    env.check(await field.shown == "CATFISH", "the field shows the answer to the last question")
  }
}
