import Testing

@testable import ProcedureKit

@Suite("Workers that linger")
struct LingeringTests {
  /// Tells of the end of its life.
  private final class Value: Sendable {
    private let tell: @Sendable () -> Void

    init(_ tell: @escaping @Sendable () -> Void) {
      self.tell = tell
    }

    deinit { tell() }
  }

  @Test(
    "A worker does not linger while it lets go of what is the user's, so that one is made for what comes meanwhile",
    arguments: [true, false])
  func lettingGo(isExecuted: Bool) async {
    let queue = ProcedureQueue("lets go", maxConcurrentProcedures: 2, isSuspended: true)
    let core = queue.core
    let lingers = Box<Bool?>(nil)
    let isOver = Signal()
    do {
      let value = Value {
        let answer = core.withState(admitting: .none) { $0.machine.workerLingers }
        lingers.update { $0 = answer }
        isOver.set()
      }
      // Its value, or what its body would have needed.
      let procedure = ProcedureTask("keeps something") { value }
      _ = queue.add(isExecuted ? procedure : procedure.condition(Condition("never") { false }))
    }
    await queue.resume()
    await isOver.wait()
    #expect(lingers.value == false)
  }
}
