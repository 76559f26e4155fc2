import Testing

@testable import ProcedureKit

/// A claim that goes from run to run is over for each of them but the last.
@Suite struct PassedOnTests {
  private let queue = ProcedureQueue("q", resources: ResourceTable())
  private let begins = Signal()
  private let ends = Signal()

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
}
