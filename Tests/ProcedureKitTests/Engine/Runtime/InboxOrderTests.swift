import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// What comes by the inbox has its place in line: higher priority first, then order of admission.
@Suite struct InboxOrderTests {
  @Test("Urgent runs start before ordinary ones that came by the inbox before them, and less urgent ones after all")
  func urgent() async throws {
    let held = try await HeldQueue()
    held.add("a")
    held.add("b")
    held.add("c")
    #expect(held.admitted == 2)
    held.add("later", priority: .low)
    held.add("d")
    held.add("urgent", priority: .high)
    held.add("e")
    #expect(held.isOpen)
    #expect(await held.release() == ["urgent", "a", "b", "c", "d", "e", "later"])
  }

  @Test("The order of calls is the order of admission, however a run comes")
  func admission() async throws {
    let held = try await HeldQueue()
    held.add("a")
    held.add("b")
    held.add("c")
    #expect(held.admitted == 2)
    held.queue.add(held.procedure("d").exclusive("order of admission"))
    held.add("e")
    #expect(held.admitted == 5)
    async let run: Void = held.queue.run(held.procedure("f"))
    do {
      // Its task tells of its admission; nobody watches any more when the next is added.
      for await event in held.queue.events where event.name == "f" { break }
    }
    held.add("g")
    #expect(held.admitted == 7)
    #expect(await held.release() == ["a", "b", "c", "d", "e", "f", "g"])
    try await run
  }

  @Test("A worker that finds the first in line unable to go on takes what came by the inbox before what is less urgent")
  func unable() async throws {
    let table = ResourceTable()
    let other = ProbeProcedure("other")
    let holding = ProcedureQueue("other", resources: table).add(other.exclusive("a"))
    try await other.waitUntilStarted()
    let held = try await HeldQueue(resources: table)
    // The inbox is open for the priority of the first that comes behind others.
    let first = held.add("first")
    for name in ["needs", "needs too"] {
      held.queue.add(held.procedure(name, priority: .high).exclusive("a"))
    }
    let last = held.add("less urgent", priority: .low)
    first.cancel()
    held.add("ordinary")
    #expect(held.isOpen && held.admitted == 4)
    held.body.finish()
    try await last.value
    #expect(held.started.value == ["ordinary", "less urgent"])
    other.finish()
    try await holding.value
    await held.queue.waitUntilIdle()
    #expect(held.started.value == ["ordinary", "less urgent", "needs", "needs too"])
  }

  @Test("What depends on a run is told of its end before anybody is taken, whatever is in the inbox")
  func dependents() async throws {
    let held = try await HeldQueue()
    let core = held.queue.core
    let workerWasMade = Box(false)
    held.holder.whenFinished { _ in
      let isMade = core.withState(admitting: .none) { $0.machine.workerIsStarting }
      workerWasMade.update { $0 = isMade }
    }
    held.queue.add(held.procedure("dependent", priority: .high), after: [held.holder])
    held.addFour()
    #expect(held.admitted == 3)
    #expect(await held.release() == ["dependent", "a", "b", "c", "d"])
    #expect(!workerWasMade.value)
  }
}
