import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// What comes by the inbox is there for everybody who looks, as if it had come otherwise.
@Suite struct InboxTests {
  @Test("What comes behind others is in the inbox until somebody looks, and then on the queue in order of admission")
  func looking() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.isOpen && held.admitted == 2)
    let snapshot = held.queue.snapshot()
    #expect(snapshot.procedures.map(\.procedure.id) == [held.holder.id] + handles.map(\.id))
    #expect(snapshot.procedures.dropFirst().allSatisfy { $0.wait == .slot })
    #expect(held.admitted == 5)
    #expect(await held.release() == ["a", "b", "c", "d"])
    #expect(!held.isOpen && held.admitted == 0)
  }

  @Test("A handle tells the state of a run that is in the inbox")
  func state() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    #expect(handles.map(\.state) == [.waiting, .waiting, .waiting, .waiting])
    #expect(await held.release() == ["a", "b", "c", "d"])
    #expect(handles.allSatisfy { $0.state == .finished })
  }

  @Test("What has a replacement key and wants nothing else comes by the inbox, where that key means nothing")
  func keyed() async throws {
    let held = try await HeldQueue()
    held.addFour()
    let last = held.queue.add(held.procedure("e").keyed(by: 1))
    #expect(held.admitted == 2)
    #expect(await held.release() == ["a", "b", "c", "d", "e"])
    #expect(last.run.admission.key == nil)
  }

  @Test("A run that is in the inbox is cancelled at once, and its body never executes")
  func cancel() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    handles[2].cancel(TestError(code: 3))
    guard case .cancelled(let reason) = await handles[2].outcome else { throw TestError() }
    #expect(reason as? TestError == TestError(code: 3))
    #expect(await held.release() == ["a", "b", "d"])
  }

  @Test("A run that is in the inbox moves up when something urgent waits for it")
  func raise() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    handles[3].raise(to: .high)
    #expect(await held.release() == ["d", "a", "b", "c"])
  }

  @Test("Who subscribes to events hears of no admission before that, and of each later one at once, also by the inbox")
  func events() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    let events = held.queue.events
    #expect(held.admitted == 5)
    let late = held.add("e")
    var seen: [ProcedureID: [String]] = [:]
    for await event in events {
      seen[event.id, default: []].append(event.shortName)
      break
    }
    #expect(held.admitted == 5 && seen == [late.id: ["didAttach"]])
    #expect(await held.release() == ["a", "b", "c", "d", "e"])
    await held.queue.shutDown()
    for await event in events { seen[event.id, default: []].append(event.shortName) }
    let whole = ["willExecute", "didExecute", "willFinish", "didFinish"]
    for handle in handles { #expect(seen[handle.id] == whole) }
    #expect(seen[late.id] == ["didAttach"] + whole)
  }

  @Test("A worker that goes straight on tells of each run in full, whatever it has come to")
  func succession() async throws {
    let held = try await HeldQueue()
    let events = held.queue.events
    let failing = held.queue.add(ProcedureTask<Void, Int>("failing") { throw TestError() })
    let retried = held.queue.add(
      ProcedureTask<Void, Int>("retried") { throw TestError() }.retry(.constant(.zero), maxAttempts: 2))
    let last = held.add("last")
    _ = await held.release()
    await held.queue.shutDown()
    var seen: [ProcedureID: [String]] = [:]
    for await event in events { seen[event.id, default: []].append(event.kind.description) }
    let failed = ["willFinish", "didFinish"].map { "\($0)(failed: \(TestError()))" }
    #expect(seen[failing.id] == ["didAttach", "willExecute(attempt: 1)", "didExecute(attempt: 1)"] + failed)
    #expect(seen[retried.id]?.suffix(4) == ["willExecute(attempt: 2)", "didExecute(attempt: 2)"] + failed)
    #expect(seen[last.id]?.suffix(2) == ["willFinish(finished)", "didFinish(finished)"])
  }

  @Test("The events of one run that was in the inbox begin with its admission")
  func eventsOfRun() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    let events = handles[2].events
    #expect(await held.release() == ["a", "b", "c", "d"])
    var seen: [String] = []
    for await event in events { seen.append(event.shortName) }
    #expect(seen == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
  }

  @Test("What is in the inbox when the queue is suspended starts when it resumes, in order")
  func suspend() async throws {
    let held = try await HeldQueue()
    held.addFour()
    #expect(held.admitted == 2)
    await held.queue.suspend()
    #expect(!held.isOpen)
    held.add("e")
    held.body.finish()
    try await held.holder.value
    #expect(held.queue.snapshot().procedures.map(\.wait) == Array(repeating: .resumption, count: 5))
    #expect(held.started.value.isEmpty)
    await held.queue.resume()
    await held.queue.waitUntilIdle()
    #expect(held.started.value == ["a", "b", "c", "d", "e"])
  }

  @Test("What is in the inbox when the queue becomes wider starts at once")
  func width() async throws {
    let held = try await HeldQueue()
    let probe = ProbeProcedure("probe")
    let handles = (0..<4).map { _ in held.queue.add(probe.priority(.medium)) }
    #expect(held.admitted == 2)
    await held.queue.setMaxConcurrentProcedures(5)
    try await probe.waitUntilStarted(4)
    #expect(held.body.endCount == 0)
    probe.finishAll()
    for handle in handles { try await handle.value }
    #expect(await held.release().isEmpty)
  }

  @Test("cancelAll cancels what is in the inbox, and nothing that comes later")
  func cancelAll() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    await held.queue.cancelAll()
    let late = held.add("late")
    for handle in handles + [held.holder] { #expect(await handle.outcome.isCancelled) }
    #expect(await late.outcome.isFinished)
    #expect(held.started.value == ["late"])
  }

  @Test("A queue that is shut down executes what is in the inbox first, and refuses the next")
  func shutDown() async throws {
    let held = try await HeldQueue()
    let handles = held.addFour()
    #expect(held.admitted == 2)
    held.queue.core.refuse()
    #expect(!held.isOpen && held.admitted == 5)
    #expect(await held.add("late").outcome.isFailed)
    held.body.finish()
    await held.queue.shutDown()
    #expect(handles.allSatisfy { $0.state == .finished })
    #expect(held.started.value == ["a", "b", "c", "d"])
  }

  @Test("A queue is idle only when what was in the inbox has finished, also for a body on it that waits for that")
  func idle() async throws {
    let held = try await HeldQueue()
    let (queue, started) = (held.queue, held.started)
    held.add("a")
    queue.add(
      ProcedureTask("waits") {
        await queue.waitUntilIdle()
        started.update { $0.append("idle") }
      }.priority(.medium))
    held.add("b")
    held.add("c")
    #expect(held.admitted == 2)
    #expect(await held.release() == ["a", "b", "c", "idle"])
  }

  @Test("The memory of many runs that came by the inbox is given back when it closes", arguments: 0..<4)
  func memory(_ later: Int) async throws {
    let held = try await HeldQueue()
    let handles = (0..<5_000).map { _ in held.queue.add(ProcedureTask {}.priority(.medium)) }
    // Each look exchanges two arrays.
    for _ in 0..<later {
      #expect(handles[4_999].state == .waiting)
      held.add("later")
    }
    #expect(held.isOpen)
    await held.queue.suspend()
    #expect(!held.isOpen)
    #expect(held.queue.core.inbox.capacity <= 1_024)
    #expect(held.queue.core.withState(admitting: .none) { $0.arrivalCapacity } <= 1_024)
    await held.queue.resume()
    #expect(await held.release().count == later)
  }
}
