import Testing

@testable import ProcedureKit

@Suite("Workers that linger")
struct LingeringTests {
  /// What the worker lets go of.
  enum Way: CaseIterable {
    case value
    /// What a body has captured that is never executed.
    case capture
    /// The value of an earlier run, which a context has kept that a body has stored.
    case valueOfEarlierRun
  }

  @Test(
    "A worker does not linger while it lets go of what is the user's: nobody would come for what is added meanwhile",
    arguments: Way.allCases)
  func lettingGo(way: Way) async {
    let queue = ProcedureQueue("lets go", maxConcurrentProcedures: 1, isSuspended: true)
    let core = queue.core
    let lingers = Box<Bool?>(nil)
    let isOver = Signal()
    let stored = Box<ProcedureContext?>(nil)
    do {
      let value = LastLook {
        let answer = core.withState(admitting: .none) { $0.machine.workerLingers }
        lingers.update { $0 = answer }
        isOver.set()
      }
      let procedure = ProcedureTask("keeps something") {
        if way == .valueOfEarlierRun { stored.update { $0 = ProcedureContext.current } }
        return value
      }
      queue.add(way == .capture ? procedure.condition(Condition("never") { false }) : procedure)
      if way == .valueOfEarlierRun { queue.add(ProcedureTask("lets go") { stored.update { $0 = nil } }) }
    }
    await queue.resume()
    await isOver.wait()
    #expect(lingers.value == false)
  }
}
