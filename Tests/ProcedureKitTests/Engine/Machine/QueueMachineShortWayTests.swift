import Testing

@testable import ProcedureKit

/// Runs that need nothing but a slot come and start in one step, and end and leave in one.
@Suite struct QueueMachineShortWayTests {
  private func start(_ machine: inout QueueMachine, _ priority: UInt8) -> Int32? {
    machine.startedAtOnce(priority: priority)
  }

  private func add(_ machine: inout QueueMachine, _ priority: UInt8) -> Int32 {
    machine.addedAtOnce(priority: priority)?.member ?? -1
  }

  private func finish(_ machine: inout QueueMachine, _ member: Int32) -> Bool {
    machine.finishedAtOnce(member)
  }

  @Test("Who finds a free slot starts at once, and leaves nothing behind")
  func oneAfterAnother() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    for _ in 0..<3 {
      guard let member = start(&machine, 20) else {
        Issue.record("There is a slot")
        return
      }
      #expect(machine.members[Int(member)].lifecycle.state == .executing)
      #expect(start(&machine, 20) == nil)
      #expect(finish(&machine, member))
      #expect(machine.isEmpty && machine.slots.taken == 0)
    }
    #expect(machine.members.count == 1)
  }

  @Test("Nobody starts at once on a suspended queue, or one that has been shut down, or before somebody more urgent")
  func others() {
    var machine = QueueMachine(width: 1, isSuspended: true)
    #expect(start(&machine, 20) == nil)
    var actions: [QueueMachine.Action] = []
    _ = machine.admitted(.detached, priority: 20, &actions)
    machine.resumed(&actions)
    #expect(start(&machine, 20) == nil)
    #expect(start(&machine, 21) != nil)

    var closed = QueueMachine(width: 1, isSuspended: false)
    closed.shutDown()
    #expect(start(&closed, 20) == nil)
  }

  @Test("Whoever has lent its slot, or is waited for, does not leave at once")
  func ends() throws {
    var machine = QueueMachine(width: 1, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let lender = try #require(start(&machine, 20))
    machine.loanStarted(lender, &actions)
    #expect(!finish(&machine, lender))

    var other = QueueMachine(width: 1, isSuspended: false)
    let first = try #require(start(&other, 20))
    _ = other.admitted(.detached, priority: 20, &actions)
    #expect(!finish(&other, first))
  }

  @Test("What comes and would have the next slot has it to claim with, and no worker is made before it holds something")
  func claims() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let first = machine.admitted(.detached, priority: 20, hasResources: true, claimsAtOnce: true, &actions)
    #expect(machine.members[Int(first)].holdsSlot && actions.isEmpty)
    machine.resourcesHeldAtOnce(first, &actions)
    #expect(actions == [.addWorker(priority: 20)] && machine.slots.taken == 0)

    // Who holds something comes first.
    let second = machine.admitted(.detached, priority: 21, hasResources: true, claimsAtOnce: true, &actions)
    #expect(!machine.members[Int(second)].holdsSlot)
    #expect(work(&machine) == .execute(first))
    #expect(work(&machine) == .claim(second))
    machine.resourcesAwaited(second, &actions)
    #expect(machine.slots.taken == 1)

    // What waits is granted to it when the first ends, and it goes on in the same slot.
    #expect(machine.successor(of: first) == nil)
    #expect(machine.resourcesGranted(second, &actions))
    #expect(machine.successor(of: first) == second)
    machine.succeeded(first, by: second, &actions)
    #expect(machine.members[Int(second)].lifecycle.state == .executing && machine.slots.taken == 1)
  }

  @Test(
    "Who has to claim first is the successor as well, and holds what it wants before it has the slot, or waits without")
  func successorsClaim() throws {
    var machine = QueueMachine(width: 1, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let first = add(&machine, 20)
    #expect(work(&machine) == .execute(first))
    let second = try #require(machine.addedAtOnce(priority: 20, wantsResources: true)?.member)
    let third = try #require(machine.addedAtOnce(priority: 20, wantsResources: true)?.member)
    let fourth = add(&machine, 20)
    #expect(machine.successor(of: first) == second)
    let (claims, claimsAgain) = (machine.successorClaims(second), machine.successor(of: first))
    #expect(claims && claimsAgain == third)
    machine.resourcesAwaited(second, &actions)

    let thirdClaims = machine.successorClaims(third)
    #expect(thirdClaims)
    machine.resourcesHeldBySuccessor(third)
    machine.succeeded(first, by: third, &actions)
    #expect(machine.members[Int(third)].lifecycle.state == .executing && machine.slots.taken == 1)

    let (isKept, fourthClaims) = (machine.resourcesGranted(second, &actions), machine.successorClaims(fourth))
    #expect(isKept && !fourthClaims && machine.successor(of: third) == second)
    let holdsAlready = !machine.successorClaims(second)
    #expect(holdsAlready)
    machine.succeeded(third, by: second, &actions)
    #expect(machine.successor(of: second) == fourth && actions.isEmpty)
  }

  @Test(
    "What wants resources and would have the next slot goes the long way to claim them; otherwise it stands in line")
  func wantsResources() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    let first = machine.addedAtOnce(priority: 20, wantsResources: true)
    #expect(first == nil && machine.isEmpty)
    let second = add(&machine, 20)
    let third = machine.addedAtOnce(priority: 20, wantsResources: true)
    let urgent = machine.addedAtOnce(priority: 21, wantsResources: true)
    #expect(third?.needsWorker == false && urgent == nil)
    #expect(work(&machine) == .execute(second))
    #expect(work(&machine) == third.map { .claim($0.member) })
  }

  @Test("Nobody claims as it comes who waits for something else first", arguments: 0..<4)
  func claimsLater(_ way: Int) {
    var machine = QueueMachine(width: way == 3 ? 0 : 1, isSuspended: way == 0)
    var actions: [QueueMachine.Action] = []
    let member = machine.admitted(
      .detached, priority: 20, hasDependencies: way == 1, hasConditions: way == 2, hasResources: true,
      claimsAtOnce: true, &actions)
    #expect(!machine.members[Int(member)].holdsSlot)
  }

  @Test(
    "A worker that lingers stands for one that starts: none is made until it has asked again"
  )
  func lingering() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let lingers = machine.lingeringStarted()
    #expect(lingers && machine.workerIsComing && !machine.workerIsStarting)
    let member = machine.admitted(.detached, priority: 20, &actions)
    #expect(actions.isEmpty)
    let otherLingers = machine.lingeringStarted()
    #expect(!otherLingers)
    machine.lingeringEnded()
    let lingersDespiteWork = machine.lingeringStarted()
    #expect(!lingersDespiteWork)
    let work = machine.workerAsked(isNew: false, &actions)
    #expect(work == .execute(member) && !machine.workerIsComing)
  }

  @Test("A worker lingers while another is starting: whoever of both asks first has what comes, and no third is made")
  func lingeringWhileOneStarts() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    let first = machine.addedAtOnce(priority: 20)
    #expect(first?.needsWorker == true && machine.workerIsStarting)
    var actions: [QueueMachine.Action] = []
    // Somebody else has taken what that one was ordered for, and found nothing after it.
    var work = machine.workerAsked(isNew: false, &actions)
    #expect(work == .execute(first?.member ?? -1))
    let lingers = machine.lingeringStarted()
    #expect(lingers && machine.workerIsStarting && actions.isEmpty)

    let second = machine.addedAtOnce(priority: 20)
    #expect(second?.needsWorker == false)
    work = machine.workerAsked(isNew: true, &actions)
    #expect(work == .execute(second?.member ?? -1) && machine.workerLingers && actions.isEmpty)
    machine.lingeringEnded()
    work = machine.workerAsked(isNew: false, &actions)
    #expect(work == .end && !machine.workerIsComing)
  }

  private func work(_ machine: inout QueueMachine) -> QueueMachine.Work {
    var actions: [QueueMachine.Action] = []
    return machine.workerAsked(isNew: false, &actions)
  }

  @Test("A pause that was not over when its run left is not that of the next run with the same number")
  func pauses() throws {
    var machine = QueueMachine(width: 1, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let first = try #require(start(&machine, 20))
    machine.pauseStarted(first)
    #expect(finish(&machine, first))
    let second = try #require(start(&machine, 20))
    #expect(second == first)
    machine.pauseStarted(second)
    #expect(machine.members[Int(second)].lifecycle.state == .pausing)
    machine.pauseEnded(second)
    #expect(machine.members[Int(second)].lifecycle.state == .executing)

    machine.pauseStarted(second)
    let third = add(&machine, 20)
    #expect(machine.successor(of: second) == third)
    machine.succeeded(second, by: third, &actions)
    let fourth = add(&machine, 20)
    #expect(fourth == second)
    machine.succeeded(third, by: fourth, &actions)
    machine.pauseStarted(fourth)
    machine.pauseEnded(fourth)
    #expect(machine.members[Int(fourth)].lifecycle.state == .executing)
  }

  @Test("Q2: resuming looks at those who go on with what they have, and not at 100,000 who wait")
  func resuming() {
    var machine = QueueMachine(width: 2, isSuspended: true)
    var actions: [QueueMachine.Action] = []
    for _ in 0..<100_000 { _ = add(&machine, 20) }
    #expect(machine.stalled.isEmpty)
    let judge = machine.admitted(.structured, priority: 20, hasConditions: true, &actions)
    let mayEvaluate = machine.evaluationStarted(judge)
    #expect(!mayEvaluate && machine.stalled == [judge])
    machine.resumed(&actions)
    #expect(machine.stalled.isEmpty && actions == [.wake(judge), .addWorker(priority: 20)])
  }

  @Test("Q2: a queue that stays suspended remembers nobody who has left, and nobody twice")
  func stalledMembers() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let body = machine.execute()
    machine.suspend()
    let mayGoOn = machine.startPiece(body)
    #expect(!mayGoOn)
    for _ in 0..<100 {
      _ = machine.startLoan(body)
      _ = machine.endLoan(body)
      let judge = machine.admitted(.structured, priority: 20, hasConditions: true, &actions)
      _ = machine.evaluationStarted(judge)
      _ = machine.cancel(judge)
      _ = machine.leave(judge)
    }
    #expect(machine.stalled == [body])
    #expect(machine.resume() == [.wake(body)])
  }
}
