import ProcedureKit
import Testing
import TestingProcedureKit

/// The code of the guide *Coming from OperationQueue, TaskGroup or the original ProcedureKit*, compiled and run; `ProjectTests` compares
/// the two.
@Suite(.timeLimit(.minutes(10))) struct ComingFromGuide {
  @Test("Results are passed to dependents")
  func passing() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let fetch = ProcedureTask("fetch") { (name: String) in "{\(name)}" }
      let parse = ProcedureTask("parse") { (text: String) in text.count }
      let cleanUp = ProcedureTask("clean up") {}
      let download = queue.add(fetch, input: "kitten")
      let parsed = queue.add(parse, from: download)  // was: parse.injectResult(from: download)
      let cleaned = queue.add(cleanUp, after: [parsed.catchingErrors()])  // after any outcome
      try await cleaned.value
      env.check(try await parsed.value == 8)
      await queue.shutDown()
    }
  }
}
