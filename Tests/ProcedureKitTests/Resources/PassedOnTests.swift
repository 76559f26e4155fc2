import Testing

@testable import ProcedureKit

/// A claim that goes from run to run is over for each of them but the last.
@Suite struct PassedOnTests {
  private let table = ResourceTable()
  private let queue: ProcedureQueue
  private let other: ProcedureQueue
  private let begins = Signal()
  private let ends = Signal()

  init() {
    queue = ProcedureQueue("q", resources: table)
    other = ProcedureQueue("other", resources: table)
  }

  /// A run that holds "x", and whose body ends when it is told to.
  private func addLeader<Output: Sendable>(_ body: @escaping @Sendable () -> Output) async -> ProcedureHandle<Output> {
    let leader = queue.add(
      ProcedureTask("leader") { [begins, ends] in
        let output = body()
        begins.set()
        await ends.wait()
        return output
      }.exclusive("x"))
    await begins.wait()
    return leader
  }

  private func follows(_ run: DetachedRun) -> Bool {
    queue.core.withState { state in run.member >= 0 && state.machine.follows(run.member) }
  }

  @Test("R2: what a body has left behind is not inside of what the body has passed on")
  func leftBehind() async throws {
    let (isPassedOn, lateHasStarted) = (Signal(), Box(false))
    let leader = await addLeader {
      Task {
        await isPassedOn.wait()
        try await ProcedureTask("late") { lateHasStarted.update { $0 = true } }.exclusive("x").execute()
      }
    }
    let entry = try #require(leader.run.resources?.wholeEntry)
    let follower = queue.add(
      ProcedureTask("follower") { () -> [Bool] in
        isPassedOn.set()
        while entry.waitCount == 0, !lateHasStarted.value { await Task.yield() }
        return [lateHasStarted.value, ProcedureContext.current?.hold?.isHeld ?? false]
      }.exclusive("x"))
    #expect(follows(follower.run))
    ends.set()
    let late = try await leader.value
    #expect(try await follower.value == [false, true])
    try await late.value
    #expect(lateHasStarted.value)
  }

  @Test("R2: what a body has left behind neither ends what the body has passed on, nor claims it again")
  func giveBack() async throws {
    let kept = Box<ProcedureContext?>(nil)
    let leader = await addLeader { kept.update { $0 = ProcedureContext.current } }
    let follower = queue.add(
      ProcedureTask("follower") { () -> [Bool] in
        let former = kept.value?.hold
        if let former {
          ResourceTable.deliver(ResourceBook.shared.end(former))
          try await kept.value?.reclaim([former])
        }
        let own = ProcedureContext.current?.hold
        return [former == nil, former?.isHeld ?? true, own?.isHeld ?? false, former?.claim === own?.claim]
      }.exclusive("x"))
    #expect(follows(follower.run))
    ends.set()
    try await leader.value
    #expect(try await follower.value == [false, false, true, true])
    kept.update { $0 = nil }
  }

  @Test("R2: what a body has left behind keeps no run to which the claim has been passed on")
  func keepsNobody() async throws {
    let kept = Box<ProcedureContext?>(nil)
    weak var last: DetachedRun?
    func passOn() async throws {
      let leader = await addLeader { kept.update { $0 = ProcedureContext.current } }
      let follower = queue.add(ProcedureTask("follower") {}.exclusive("x"))
      #expect(follows(follower.run))
      last = follower.run
      ends.set()
      try await leader.value
      try await follower.value
      await queue.waitUntilIdle()
    }
    try await passOn()
    #expect(kept.value?.hold?.claim.reference == nil && kept.value?.hold != nil)
    // Its worker may still be about to let go of it.
    for _ in 0..<100_000 where last != nil { await Task.yield() }
    #expect(last == nil)
    kept.update { $0 = nil }
  }

  // MARK: Names

  /// A body on another queue that holds "y", and wants "x" when it is told to.
  private func addOutsider(wantsAt signal: Signal) async -> ProcedureHandle<Void> {
    let holds = Signal()
    let outsider = other.add(
      ProcedureTask("outsider") {
        holds.set()
        await signal.wait()
        try await ProcedureTask("wantsX") {}.exclusive("x").execute()
      }.exclusive("y"))
    await holds.wait()
    return outsider
  }

  /// Returns when the outsider waits for something that is held.
  private func outsiderWaits() async {
    while true {
      if case .resources? = other.snapshot().procedures.first?.wait { return }
      await Task.yield()
    }
  }

  private func circle(of error: (any Error)?) -> Set<String>? {
    guard case .exclusionDeadlock(_, let circle)? = error as? ProcedureError else { return nil }
    return Set(circle.map { "\($0.procedure.name) waits for \($0.resource) of \($0.holder.name)" })
  }

  @Test("R4: whoever has been passed on something is named as its holder")
  func names() async throws {
    let (wants, holds, goesOn) = (Signal(), Signal(), Signal())
    let leader = await addLeader {}
    let outsider = await addOutsider(wantsAt: wants)
    let follower = queue.add(
      ProcedureTask("follower") {
        holds.set()
        await goesOn.wait()
        try await ProcedureTask("wantsY") {}.exclusive("y").execute()
      }.exclusive("x"))
    #expect(follows(follower.run))
    ends.set()
    try await leader.value
    await holds.wait()
    wants.set()
    await outsiderWaits()
    #expect(
      other.snapshot().procedures.first?.wait.map { "\($0)" } == "\"x\", which \(follower.identity) holds")
    goesOn.set()
    guard case .failed(let error) = await follower.outcome else { throw CancellationError() }
    #expect(circle(of: error) == ["wantsY waits for y of outsider", "wantsX waits for x of follower"])
    _ = await outsider.outcome
  }

  @Test("R4: what has ended and is kept by what is inside of it is named in a circle")
  func former() async throws {
    let (wants, isInside, goesOn) = (Signal(), Signal(), Signal())
    let leader = await addLeader {
      Task {
        let inside = ProcedureTask("inside") {
          isInside.set()
          await goesOn.wait()
          try await ProcedureTask("wantsY") {}.exclusive("y").execute()
        }
        try await inside.exclusive("x").execute()
      }
    }
    await isInside.wait()
    ends.set()
    let leftBehind = try await leader.value
    await queue.waitUntilIdle()
    let outsider = await addOutsider(wantsAt: wants)
    wants.set()
    await outsiderWaits()
    #expect(
      other.snapshot().procedures.first?.wait.map { "\($0)" } == "\"x\", which \(leader.identity) holds")
    goesOn.set()
    var error: (any Error)?
    do { try await leftBehind.value } catch let thrown { error = thrown }
    if error == nil, case .failed(let thrown) = await outsider.outcome { error = thrown }
    #expect(circle(of: error) == ["wantsY waits for y of outsider", "wantsX waits for x of leader"])
    _ = await outsider.outcome
  }

  // MARK: Claims by themselves

  private final class Nobody: ResourceClaimant {
    func resourcesGranted() {}
    func resourcesRefused(_ waits: [ExclusionWait]) {}
    func raise(to priority: TaskPriority) {}
  }

  private func claim(_ category: String, inside hold: ResourceHold? = nil, priority: UInt8 = 20) -> ResourceHold {
    let request = ResourceRequest(categories: [category], isShared: false)
    let procedure = ProcedureIdentity(id: .reserve(), name: category)
    let claim = ResourceClaim(
      ResourceDemands(request, in: table), inside: hold, of: procedure, for: Nobody(), priority: priority)
    guard case .granted = ResourceBook.shared.place(claim, for: ResourceLedger.ClaimRuns()) else {
      Issue.record("\(category) is not there")
      return ResourceHold(claim)
    }
    return ResourceHold(claim)
  }

  @Test(
    "R6: a claim that is passed on has the highest priority of all who have had it", arguments: [(10, 20), (30, 30)])
  func priority(of next: UInt8, becomes expected: UInt8) {
    let hold = claim("priority")
    let procedure = ProcedureIdentity(id: .reserve(), name: "next")
    let priority = ResourceBook.shared.passOn(
      hold.claim, to: Nobody(), of: procedure, priority: next, for: ResourceLedger.ClaimRuns())
    #expect(priority == expected && hold.claim.priority == expected && hold.claim.procedure == procedure)
    #expect(!hold.isHeld && ResourceHold(hold.claim).isHeld)
    #expect(ResourceBook.shared.end(hold).isEmpty && table.count == 1)
    _ = ResourceBook.shared.end(ResourceHold(hold.claim))
    #expect(table.count == 0)
  }

  @Test(
    "A claim that has ended does not keep what it was inside of if that has ended, and lets go of it outside of the lock"
  )
  func enclosing() {
    let outer = claim("outer")
    let (inner, another) = (claim("inner", inside: outer), claim("another", inside: outer))
    _ = ResourceBook.shared.end(outer)
    let news = ResourceBook.shared.end(inner)
    #expect(inner.claim.enclosing == nil && news.abandoned.contains { $0 === outer.claim })
    #expect(another.claim.enclosing == outer)
    _ = ResourceBook.shared.end(another)
    #expect(table.count == 0)
  }
}
