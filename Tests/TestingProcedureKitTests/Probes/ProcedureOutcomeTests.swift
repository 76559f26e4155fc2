import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ProcedureOutcomeTests {
  private let finished = ProcedureOutcome<Int>.finished(3)
  private let failed = ProcedureOutcome<Int>.failed(Reason(text: "broken"))
  private let cancelled = ProcedureOutcome<Int>.cancelled(reason: Reason())
  private let ignored = ProcedureOutcome<Int>.ignored(by: "online")

  @Test("Each outcome has only its own properties")
  func questions() {
    let all = [finished, failed, cancelled, ignored]
    #expect(all.map(\.isFinished) == [true, false, false, false])
    #expect(all.map(\.isFailed) == [false, true, false, false])
    #expect(all.map(\.isCancelled) == [false, false, true, false])
    #expect(all.map(\.isIgnored) == [false, false, false, true])
    #expect(all.map { $0.isFinished(3) } == [true, false, false, false])
    #expect(!finished.isFinished(4))
    #expect(all.map { $0.error(as: Reason.self)?.text } == [nil, "broken", nil, nil])
    #expect(all.map { $0.cancellationReason(as: Reason.self)?.text } == [nil, nil, "because", nil])
    #expect(all.map(\.ignoringCondition) == [nil, nil, nil, "online"])
  }

  @Test("The error of an outcome is nil if it has a type other than the requested one")
  func types() async {
    #expect(failed.error(as: CancellationError.self) == nil)
    #expect(failed.procedureError == nil)
    #expect(cancelled.cancellationReason(as: CancellationError.self) == nil)
    #expect(ProcedureOutcome<Int>.cancelled(reason: nil).cancellationReason == nil)
    let queue = ProcedureQueue()
    await queue.shutDown()
    #expect(await queue.add(ProcedureTask {}).outcome.procedureError?.kind == .queueShutDown)
  }
}
