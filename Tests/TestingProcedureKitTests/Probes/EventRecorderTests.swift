import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct EventRecorderTests {
  @Test("A recorder keeps events in order, knows which came first, and ends with the queue")
  func order() async throws {
    let queue = ProcedureQueue(maxConcurrentProcedures: 1)
    let recorder = EventRecorder(queue)
    let first = queue.add(ProcedureTask("first") { 1 })
    let second = queue.add(ProcedureTask("second") { (value: Int) in value }, from: first)
    try await recorder.wait(for: .didFinish, of: second.id)
    #expect(recorder.happened(.didFinish, of: first.id, before: .willExecute, of: second.id))
    #expect(!recorder.happened(.willExecute, of: second.id, before: .didFinish, of: first.id))
    #expect(!recorder.happened(.didCancel, of: first.id, before: .didFinish, of: second.id))
    #expect(recorder.steps(of: first.id) == [.didAttach, .willExecute, .didExecute, .willFinish, .didFinish])
    #expect(recorder.first(.didFinish)?.id == first.id)
    #expect(await first.allEvents().steps() == recorder.steps(of: first.id))
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.hasEnded)
    #expect(recorder.events.count == 10)
    #expect(recorder.events.orderViolations().isEmpty)
  }

  @Test("A wait for an event that never occurs ends with the stream, and throws an error with the recorded events")
  func neverHappened() async throws {
    let queue = ProcedureQueue()
    let recorder = EventRecorder(queue)
    let handle = queue.add(ProcedureTask {})
    let cancel = Task { try await recorder.wait(for: .didCancel, of: handle.id) }
    let six = Task { try await recorder.wait { $0.count == 6 } }
    #expect(try await recorder.wait(for: .didFinish).id == handle.id)
    await queue.shutDown()
    let error = await #expect(throws: EventRecorder.StreamEnded.self) { try await cancel.value }
    #expect(error?.events.count == 5)
    #expect(
      error?.description.hasPrefix("the stream ended without didCancel of \(handle.id). Recorded events: [\"didAttach")
        == true)
    await #expect(throws: EventRecorder.StreamEnded.self) { try await six.value }
    #expect(try await recorder.wait(for: .didAttach).kind == .didAttach)
  }

  @Test("Within an exploration, a recorder belongs to the exploration, even if a body on a queue creates it")
  func explored() async throws {
    var explorer = ScheduleExplorer(schedules: TestDepth.count(2_000))
    explorer.expectedOutcomes = ["early", "late"]
    try await explorer.explore { env in
      let queue = env.makeQueue()
      let outer = EventRecorder(queue)
      let handle = queue.add(
        ProcedureTask {
          let inner = EventRecorder(queue)
          let child = queue.add(ProcedureTask { await Task.yield() })
          try await inner.wait(for: .didFinish, of: child.id)
        })
      env.tally(handle.state == .finished ? "late" : "early")
      async let finish = outer.wait(for: .didFinish, of: handle.id)
      await pause(env, upTo: 20)
      env.tally(handle.state == .finished ? "late" : "early")
      env.check(try await finish.id == handle.id)
      await queue.shutDown()
    }
  }

  @Test("A cancelled wait for an event ends")
  func cancelledWait() async throws {
    let queue = ProcedureQueue(isSuspended: true)
    let recorder = EventRecorder(queue)
    let waiting = Task { try await recorder.wait(for: .didFinish) }
    queue.add(ProcedureTask {})
    try await recorder.wait(for: .didAttach)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    queue.resume()
    await queue.shutDown()
  }
}
