import Foundation
import ProcedureKitFoundation
import Testing
import TestingProcedureKit

/// Tests the messages for the users of a program.
@Suite(.timeLimit(.minutes(10))) struct LocalizedErrorTests {
  private struct Offline: LocalizedError {
    var errorDescription: String? { "There is no network" }
  }

  private let upload = ProcedureQueue("q").add(ProcedureTask("Upload") {}).identity
  private let login = ProcedureQueue("q").add(ProcedureTask("Login") {}).identity

  @Test("Messages for users contain the event and the reason, with names but without IDs or advice for programmers")
  func sentences() throws {
    let error = ProcedureError.dependencyFailed(of: upload, login, Offline())
    #expect(error.localizedDescription == "“Upload” was not executed.")
    #expect(error.failureReason == "It depends on “Login”, which failed: There is no network.")
    #expect(error.recoverySuggestion == nil)
    #expect(error.advice?.contains("catchingErrors()") == true && !"\(error)".contains("catchingErrors()"))

    let late = ProcedureError.timedOut(procedure: upload, duration: .seconds(5), hasStarted: true)
    #expect(late.localizedDescription == "“Upload” timed out after 5 seconds." && late.failureReason == nil)
  }

  @Test(
    "Messages for users suggest another attempt where it makes sense",
    arguments: [
      (Duration.milliseconds(300), "Try again in 1 second."), (.seconds(6), "Try again in 6 seconds."),
      (.milliseconds(6_001), "Try again in 7 seconds."), (nil, nil),
    ])
  func suggestions(_ delay: Duration?, _ words: String?) {
    #expect(
      ProcedureError(.circuitOpen, procedure: upload) { $0.retryAfter = delay }.recoverySuggestion == words)
    #expect(ProcedureError(.rateExceeded, procedure: upload) { $0.retryAfter = delay }.recoverySuggestion == words)
  }

  @Test("Items that do not form a graph are described for the authors of the items")
  func items() {
    let error = #expect(throws: GraphItemsError<Int>.self) {
      _ = try ProcedureGraph("g", [1, 2], id: { $0 }, needs: { [3 - $0] }, operation: { item, _ in item })
    }
    #expect(
      error?.localizedDescription == "The graph \"g\" could not be created: \"1\" needs \"2\", which needs \"1\".")
  }

  private struct Chapter: GraphKey {
    typealias Value = Int
    let name = "chapter 1"
  }

  @Test("The core's other errors are described by a sentence, and alternatives by their own messages for users")
  func otherErrors() async {
    let undeclared = await #expect(throws: GraphKeyError.self) { _ = try await ProcedureContext.value(of: Chapter()) }
    #expect(
      undeclared?.localizedDescription
        == "\"chapter 1\" was requested, but no enclosing graph declares values for \"Chapter\".")
    let errors: [(any Error, String)] = [
      (CapabilityError.unavailable(capability: "Bluetooth"), "Bluetooth is not available on this system."),
      (ConditionError.satisfied(condition: "online"), "The negated condition \"online\" was satisfied."),
      (
        ConditionError.noneSatisfied(errors: [Offline(), CapabilityError.unavailable(capability: "Bluetooth")]),
        "No alternative was satisfied: There is no network; Bluetooth is not available on this system."
      ),
    ]
    for (error, sentence) in errors { #expect(error.localizedDescription == sentence) }
  }

  @Test("Every error has a sentence for users, which names the procedure and has neither an ID nor the word Optional")
  func all() {
    let failure = ProcedureFailure(procedure: login, error: Offline())
    let errors: [ProcedureError] = [
      ProcedureError(.conditionFailed, procedure: upload) { ($0.condition, $0.underlying) = ("online", Offline()) },
      .ignored(procedure: upload, by: "online"),
      .dependencyFailed(of: upload, login, Offline()),
      .queueShutDown(procedure: upload, queue: "q", wasAdmitted: false),
      .childrenFailed(procedure: upload, failures: [failure]),
      .exclusionDeadlock(procedure: upload, waits: []),
      ProcedureError(.producerFinished, procedure: upload) { $0.producer = login },
      .queueFull(procedure: upload, queue: "q", limit: 3),
      ProcedureError(.replaced, procedure: upload) { $0.replacement = login },
      ProcedureError(.stopped, procedure: upload) { ($0.origin, $0.underlying) = (login, Offline()) },
      ProcedureError(.capabilityUnavailable, procedure: upload) { $0.underlying = Offline() },
      ProcedureError(.capabilityUnauthorized, procedure: upload) { $0.underlying = Offline() },
      .timedOut(procedure: upload, duration: .zero, hasStarted: false),
      ProcedureError(.bodySkipped, procedure: upload) { $0.queue = "q" },
      ProcedureError(.promiseReleased, procedure: upload),
    ]
    #expect(Set(errors.map(\.kind)).count == errors.count)
    for error in errors {
      let text = "\(error.localizedDescription) \(error.failureReason ?? "")"
      #expect(text.contains("“Upload”") && !text.contains("#") && !text.contains("Optional"), "\(text)")
      #expect("\(error)".contains("\(upload)"))
      #expect(
        error.debugDescription.hasPrefix("\(error)") && (error.advice == nil) == ("\(error)" == error.debugDescription))
    }
  }
}
