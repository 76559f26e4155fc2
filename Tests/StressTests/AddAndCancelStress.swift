import Dispatch
import Testing
import TestingProcedureKit

extension StressTests {
  @Test("Two threads add procedures, and each cancels the procedures that the other adds", arguments: [1, 4, 64])
  func addAndCancel(width: Int) async throws {
    try await Stress.run("add and cancel, width \(width)", width: width) { queue, counts, _ in
      let boxes = [Mailbox<ProcedureHandle<Void>>(), Mailbox<ProcedureHandle<Void>>()]
      let handles = Mailbox<ProcedureHandle<Void>>()
      DispatchQueue.concurrentPerform(iterations: 2) { thread in
        for number in 0..<(Stress.many / 2) {
          let handle = counts.watch(queue.add(counts.worker()))
          handles.put(handle)
          if number % 4 != 0 { boxes[1 - thread].put(handle) }
          boxes[thread].takeLast()?.cancel()
        }
      }
      let count = await OutcomeCount(of: handles.takeAll())
      #expect(count.total == Stress.many && count.finished + count.cancelled == Stress.many)
      #expect(count.finished > 0 && count.cancelled > 0)
      #expect(counts.most <= width)
    }
  }

  @Test("Each procedure is cancelled by the thread that has just added it, and all others are cancelled by cancelAll")
  func cancelAtOnce() async throws {
    try await Stress.run("cancel at once", width: 3) { queue, counts, _ in
      async let cancellingAll: Void = {
        for _ in 0..<200 { queue.cancelAll() }
      }()
      let handles = Mailbox<ProcedureHandle<Void>>()
      DispatchQueue.concurrentPerform(iterations: 2) { thread in
        for number in 0..<(Stress.many / 2) {
          let handle = counts.watch(queue.add(counts.worker()))
          handles.put(handle)
          if number % 2 == thread { handle.cancel() }
        }
      }
      await cancellingAll
      let count = await OutcomeCount(of: handles.takeAll())
      #expect(count.total == Stress.many && count.failed + count.ignored == 0)
      #expect(count.cancelled > 0)
    }
  }
}
