import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests the descriptions that appear in logs.
@Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
  private let identity = ProcedureQueue("q").add(ProcedureTask("work") {}).identity

  @Test(
    "Messages round durations to three digits of a unit that fits",
    arguments: [
      (Duration.zero, "0 seconds"), (.nanoseconds(1), "1 nanosecond"), (.nanoseconds(1_234), "1.23 microseconds"),
      (.nanoseconds(1_050), "1.05 microseconds"), (.seconds(0.0123456789), "12.3 milliseconds"),
      (.milliseconds(300), "300 milliseconds"), (.milliseconds(999.6), "1 second"), (.seconds(1.23456), "1.23 seconds"),
      (.seconds(90), "90 seconds"), (.seconds(9_999.4), "9999 seconds"), (.seconds(-2.5), "-2.5 seconds"),
      (Duration(attoseconds: 3), "0 seconds"), (Duration(attoseconds: .max), "170141183460469231732 seconds"),
    ])
  func durations(_ duration: Duration, _ words: String) {
    let late = ProcedureError.timedOut(procedure: identity, duration: duration, hasStarted: true)
    #expect("\(late)" == "\(identity) timed out after \(words)")
    let open = ProcedureError(.circuitOpen, procedure: identity) { $0.retryAfter = duration }
    #expect("\(open)".hasSuffix("the next call is allowed in \(words)"))
    let excessive = ProcedureError(.rateExceeded, procedure: identity) { $0.retryAfter = duration }
    #expect("\(excessive)".hasSuffix("only after \(words)"))
  }

  @Test("The list of all kinds of errors, with which a remote error is decoded, is complete")
  func kinds() throws {
    let source = try Checkout.text(of: "Sources/ProcedureKit/Errors/ProcedureError.swift")
    let declared = source.matches(of: /static let (\w+) = Kind\("(\w+)"\)/)
    #expect(declared.allSatisfy { $0.1 == $0.2 })
    #expect(Set(declared.map { String($0.1) }) == Set(ProcedureError.Kind.all.map(\.description)))
    #expect(!declared.isEmpty && declared.count == ProcedureError.Kind.all.count)
  }

  @Test("Instants are in seconds, to the microsecond")
  func instants() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock)
    clock.advance(by: .nanoseconds(12_345_678))
    let recorder = EventRecorder(queue)
    try await queue.run(ProcedureTask {})
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let instant = try #require(recorder.events.first?.instant)
    #expect("\(instant)" == "0.012346 seconds")
    #expect("\(instant.advanced(by: .seconds(3_600) - .nanoseconds(12_345_678)))" == "3600 seconds")
    #expect("\(instant.advanced(by: .seconds(-1)))" == "-0.987654 seconds")
  }

  @Test("The description of an event names the run and the event, without the word Optional")
  func events() async throws {
    let queue = ProcedureQueue("q")
    let recorder = EventRecorder(queue)
    let flaky = ProcedureTask<Void, Int>("flaky") {
      if ProcedureContext.current?.attempt == 1 { throw TestError(code: 1) }
      return 7
    }
    let retried = queue.add(flaky.retry(.constant(.nanoseconds(1_234)), maxAttempts: 2))
    _ = await retried.outcome
    let held = queue.add(ProbeProcedure("held"))
    held.cancel(TestError(code: 2))
    _ = await held.outcome
    await queue.shutDown()
    try await recorder.waitUntilEnded()

    let lines = recorder.events.map { "\($0)" }
    #expect(
      lines.filter { $0.hasPrefix("\(retried.id) ") }
        == [
          "didAttach", "willExecute(attempt: 1)", "didExecute(attempt: 1)",
          "retrying(attempt: 1, delay: 1.23 microseconds, error: \(TestError(code: 1)))", "willExecute(attempt: 2)",
          "didExecute(attempt: 2)", "willFinish(finished)", "didFinish(finished)",
        ].map { "\(retried.id) flaky \($0)" })
    #expect(lines.contains("\(held.id) held didCancel(reason: \(TestError(code: 2)))"))
    #expect(lines.contains("\(held.id) held didFinish(cancelled: \(TestError(code: 2)))"))
    #expect(!lines.joined().contains("Optional("))
  }

  @Test("The description of every event, outcome and wait is free of the word Optional")
  func optionals() async {
    let steps: [ProcedureEvent.Step] = [
      .didCancel(reason: nil), .didCancel(reason: TestError(code: 1)), .willProduce(identity), .didProduce(identity),
      .didAwait(identity), .willExecute(attempt: 1),
      .didFinish(.cancelled(reason: TestError(code: 1))), .didRequest(identity),
    ]
    let subject = ProcedureEvent.Subject(id: identity.id, name: "work")
    let events = steps.map { ProcedureEvent(of: subject, at: ProcedureInstant(nanoseconds: 0), .init(step: $0)) }
    #expect("\(events[0])" == "\(identity.id) work didCancel")
    #expect("\(events[2])" == "\(identity.id) work willProduce(\(identity))")
    #expect("\(events[4])" == "\(identity.id) work didAwait(\(identity))")
    #expect("\(events[7])" == "\(identity.id) work didRequest(\(identity))")
    #expect("\(events[5])" == "\(identity.id) work willExecute(attempt: 1)")
    #expect("\(ProcedureOutcome<Int?>.finished(3))" == "finished(3)")
    #expect("\(ProcedureOutcome<Int??>.finished(.some(.some(3))))" == "finished(3)")
    #expect("\(ProcedureOutcome<Int?>.finished(nil))" == "finished(nil)")

    let queue = ProcedureQueue("q", isSuspended: true)
    queue.add(ProcedureTask("still") {})
    let snapshot = queue.snapshot()
    #expect(
      snapshot.procedures.map { "\($0)".drop { $0 != ")" } } == [") waiting, waits for the queue to be resumed"])
    #expect("\(snapshot)".hasSuffix("\n  \(snapshot.procedures[0])"))
    let words = [events.description, "\(snapshot)", "\(snapshot.procedures)"]
    #expect(!words.joined().contains("Optional("))
    queue.cancelAll()
  }
}
