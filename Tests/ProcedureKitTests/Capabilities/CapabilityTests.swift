import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.serialized, .timeLimit(.minutes(10))) struct CapabilityTests {
  @Test("The status is read without a request, and is nil if the capability is not available")
  func status() async throws {
    let camera = CapabilityProbe("camera", status: .denied)
    #expect(try await GetAuthorizationStatus(camera).execute() == .denied)
    #expect(try await GetAuthorizationStatus(CapabilityProbe("none", isAvailable: false)).execute() == nil)
    #expect(camera.requestCount == 0)
  }

  @Test("authorized(for:) requests authorization once, in its prepare step; when silenced, it only reads the status")
  func asks() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let camera = CapabilityProbe("camera")
    let shoot = ProcedureTask("shoot") { 1 }
    let silent = await queue.add(shoot.condition(.authorized(for: camera).silenced())).outcome
    #expect(camera.requestCount == 0)
    guard case .failed(let error as ProcedureError) = silent, case .unauthorized? = error.underlying as? CapabilityError
    else {
      Issue.record("\(silent)")
      return
    }
    let handle = queue.add(shoot.condition(.authorized(for: camera)))
    try await camera.waitUntilRequested()
    // The prompt has not been answered, and the only slot is free.
    #expect(try await queue.run(shoot) == 1)
    camera.grant()
    #expect(try await handle.value == 1)
    #expect(try await queue.run(shoot.condition(.authorized(for: camera))) == 1)
    #expect(try await queue.run(shoot.condition(.authorized(for: camera).silenced())) == 1)
    #expect(camera.requestCount == 1)
  }

  @Test("A refusal, an error of the request and a missing capability fail the condition with the reason")
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
        "refused is not sufficiently authorized: denied", "TestError(code: 4)",
        "missing is not available on this system",
      ])
  }

  @Test("An answer applies to the requests that were waiting for it; a request after a refusal prompts again")
  func askAgain() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let camera = CapabilityProbe("camera")
    camera.deny()
    #expect(await queue.add(Authorize(camera)).outcome.procedureError?.kind == .capabilityUnauthorized)
    camera.grant()
    #expect(try await queue.run(Authorize(camera)) == .granted)
    #expect(try await queue.run(Authorize(camera)) == .granted)
    #expect(camera.requestCount == 2)
  }

  @Test("Requests for one type never overlap; requests for other capabilities of the type follow in turn")
  func requestsDoNotOverlap() async throws {
    let (one, other) = (CapabilityProbe("one"), CapabilityProbe("other"))
    let queue = ProcedureQueue("q")
    let handles = [queue.add(Authorize(one)), queue.add(Authorize(other))]
    let first = await firstRequested(one, other)
    let second = first === one ? other : one
    #expect(second.requestCount == 0)
    first.deny()
    try await second.waitUntilRequested()
    second.grant()
    var granted = 0
    for handle in handles where await handle.outcome.isFinished { granted += 1 }
    #expect(granted == 1)
  }

  private func firstRequested(_ one: CapabilityProbe, _ other: CapabilityProbe) async -> CapabilityProbe {
    await withTaskGroup(of: CapabilityProbe?.self) { group in
      for probe in [one, other] {
        group.addTask { (try? await probe.waitUntilRequested()) == nil ? nil : probe }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first ?? one
    }
  }

  @Test("An error is not an answer: the next request prompts again")
  func errorsAreNotShared() async throws {
    let queue = ProcedureQueue("q")
    let camera = CapabilityProbe("camera")
    camera.fail(TestError(code: 1))
    camera.grant()
    let handles = [queue.add(Authorize(camera)), queue.add(Authorize(camera))]
    var failures = 0
    for handle in handles where await handle.outcome.error(as: TestError.self) != nil { failures += 1 }
    #expect(failures == 1 && camera.requestCount == 2)
  }

  @Test(
    "The error of a directly executed Authorize names the procedure and the missing capability, with or without a queue"
  )
  func namesTheProcedure() async throws {
    let refused = CapabilityProbe("refused")
    refused.deny()
    let handle = ProcedureQueue("q").add(Authorize(refused))
    let error = await handle.outcome.procedureError
    #expect(error?.kind == .capabilityUnauthorized && error?.procedure.id == handle.id)
    #expect(error?.description == "\(handle.identity) failed: refused is not sufficiently authorized: denied")
    do {
      _ = try await Authorize(CapabilityProbe("missing", isAvailable: false)).execute()
      Issue.record("it is not there")
    } catch let error as ProcedureError {
      #expect(error.kind == .capabilityUnavailable && error.procedure.name == "authorize missing")
      #expect(error.underlying is CapabilityError)
    }
    // The error of a nested run names its own procedure, too.
    let denied = CapabilityProbe("denied")
    denied.deny()
    let outer = ProcedureTask("outer") { _ = try await Authorize(denied).execute() }
    await #expect { try await outer.execute() } throws: {
      ($0 as? ProcedureError)?.procedure.name == "authorize denied"
    }
  }

  @Test("A request that is waiting for its turn is cancelled immediately, and the others continue")
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
