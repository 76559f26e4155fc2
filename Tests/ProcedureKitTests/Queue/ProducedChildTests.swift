import ProcedureKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProducedChildTests {
  @Test("Cancelling 5,000 children, each produced by the previous one, does not overflow the stack")
  func longChainOfChildren() async throws {
    let queue = ProcedureQueue("q")
    let (atEnd, depth) = (Signal(), 5_000)
    let handle = queue.add(Self.link(depth, atEnd))
    await atEnd.wait()
    handle.cancel(TestError(code: 5))
    await #expect(throws: TestError(code: 5)) { try await handle.value }
    await queue.waitUntilIdle()
  }

  private static func link(_ number: Int, _ atEnd: Signal) -> ProcedureTask<Void, Void> {
    ProcedureTask("link") {
      if number > 0 {
        ProcedureContext.current?.produce(link(number - 1, atEnd))
      } else {
        atEnd.set()
        await untilCancelled()
      }
    }
  }
}
