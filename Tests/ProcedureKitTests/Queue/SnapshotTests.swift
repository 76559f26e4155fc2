import ProcedureKit
import Testing

@Suite struct SnapshotTests {
  @Test("A snapshot says of every procedure what it waits for")
  func waits() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let started = Signal()
    let release = Signal()
    let executing = queue.add(
      ProcedureTask("executing") {
        started.set()
        await release.wait()
      })
    await started.wait()
    let waiting = queue.add(ProcedureTask("waiting") {})
    let evaluating = Signal()
    let judged = queue.add(
      ProcedureTask("judged") {}.condition("c") {
        evaluating.set()
        await release.wait()
        return true
      })
    await evaluating.wait()
    let pending = queue.add(ProcedureTask("pending") {}, after: [executing, judged, executing])
    let snapshot = queue.snapshot()
    #expect(snapshot.procedures.map(\.procedure.name) == ["executing", "waiting", "judged", "pending"])
    #expect(snapshot.procedures.map(\.state) == [.executing, .waiting, .evaluating, .pending])
    #expect(
      snapshot.procedures.map(\.wait) == [
        nil, .slot, .conditions(["c"]), .dependencies([executing.identity, judged.identity, executing.identity]),
      ])
    #expect(snapshot.slotsInUse == 1 && snapshot.maxConcurrentProcedures == 1 && !snapshot.isSuspended)
    #expect("\(snapshot)".contains("\"pending\" (\(pending.id)) pending, waits for \"executing\""))
    await queue.suspend()
    #expect(queue.snapshot().procedures[1].wait == .resumption)
    await queue.resume()
    release.set()
    for handle in [executing, waiting, judged, pending] { try await handle.value }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("Q3: a body that awaits others on its queue is seen to lend its slot")
  func loans() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let snapshot = try await queue.run(
      ProcedureTask("outer") {
        try await queue.run(ProcedureTask("inner") { queue.snapshot() })
      })
    #expect(snapshot.procedures.map(\.wait) == [.otherProcedures, nil])
    #expect(snapshot.slotsInUse == 1)
  }
}
