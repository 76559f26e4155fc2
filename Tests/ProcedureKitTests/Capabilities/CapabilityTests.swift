import ProcedureKit
import Testing
import TestingProcedureKit

@Suite(.serialized) struct CapabilityTests {
  @Test("The status is told without asking; nil where the capability is not available")
  func status() async throws {
    let camera = CapabilityProbe("camera", status: .denied)
    #expect(try await GetAuthorizationStatus(camera).execute() == .denied)
    #expect(try await GetAuthorizationStatus(CapabilityProbe("none", isAvailable: false)).execute() == nil)
    #expect(camera.requestCount == 0)
  }

  @Test("authorized(for:) asks in its prepare step, once, and is satisfied by the answer; silent only looks")
  func asks() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let camera = CapabilityProbe("camera")
    let shoot = ProcedureTask("shoot") { 1 }
    let silent = await queue.add(shoot.condition(.silent(.authorized(for: camera)))).outcome
    #expect(camera.requestCount == 0)
    guard case .failed(let error as ProcedureError) = silent, case .unauthorized? = error.underlying as? CapabilityError
    else {
      Issue.record("\(silent)")
      return
    }
    let handle = queue.add(shoot.condition(.authorized(for: camera)))
    try await camera.waitUntilRequested()
    // Nobody has answered, and the only slot is free.
    #expect(try await queue.run(shoot) == 1)
    camera.grant()
    #expect(try await handle.value == 1)
    #expect(try await queue.run(shoot.condition(.authorized(for: camera))) == 1)
    #expect(try await queue.run(shoot.condition(.silent(.authorized(for: camera)))) == 1)
    #expect(camera.requestCount == 1)
  }

  @Test("A refusal, an error of the request and a missing capability fail the condition with what happened")
  func failures() async throws {
    let refused = CapabilityProbe("refused")
    refused.deny()
    let broken = CapabilityProbe("broken")
    broken.fail(TestError(code: 4))
    let missing = CapabilityProbe("missing", isAvailable: false)
    var messages: [String] = []
    for capability in [refused, broken, missing] {
      do {
        try await ProcedureTask("p") {}.condition(.authorized(for: capability)).execute()
      } catch let error as ProcedureError {
        messages.append("\(error.underlying.map { "\($0)" } ?? "")")
      }
    }
    #expect(
      messages == [
        "refused is not authorized as needed: denied", "TestError(code: 4)", "missing is not available here",
      ])
  }

  @Test("Requests for one type never overlap, and whoever waited for an answer that is enough does not ask again")
  func requestsDoNotOverlap() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let camera = CapabilityProbe("camera")
    let handles = (0..<20).map { _ in queue.add(Authorize(camera)) }
    try await camera.waitUntilRequested()
    camera.deny()
    try await camera.waitUntilRequested(2)
    camera.grant()
    var refusals = 0
    for handle in handles where await handle.outcome.value == nil { refusals += 1 }
    #expect(refusals == 1)
    #expect(camera.requestCount == 2 && camera.mostRequestsAtOnce == 1)
  }

  @Test("C2: one who waits for its turn to ask is cancelled at once, and the others go on")
  func cancelWhileWaiting() async throws {
    let queue = ProcedureQueue("q")
    let camera = CapabilityProbe("camera")
    let first = queue.add(ProcedureTask {}.condition(.authorized(for: camera)))
    try await camera.waitUntilRequested()
    let second = queue.add(Authorize(camera))
    let third = queue.add(Authorize(camera))
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    camera.grant()
    try await first.value
    #expect(try await third.value == .granted)
    #expect(camera.requestCount == 1)
  }
}
