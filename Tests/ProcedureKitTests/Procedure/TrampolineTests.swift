import Dispatch
import Foundation
import Testing

@testable import ProcedureKit

@Suite(.timeLimit(.minutes(10))) struct TrampolineTests {
  @Test("Calls that are made within a call follow it in order")
  func order() {
    let calls = Locked<[Int]>([])
    Trampoline.call {
      Trampoline.call { calls.withLock { $0.append(2) } }
      Trampoline.call { calls.withLock { $0.append(3) } }
      calls.withLock { $0.append(1) }
    }
    #expect(calls.withLock { $0 } == [1, 2, 3])
  }

  @Test("A task that is created within a call performs its own calls, and does not leave them to the loop")
  func otherTask() async {
    let wasCalled = Locked(false)
    await withCheckedContinuation { continuation in
      // The thread waits within a call, so that the loop has not ended.
      Thread.detachNewThread {
        Trampoline.call {
          let isDone = DispatchSemaphore(value: 0)
          // The task ends without cancellation.
          Task {
            let inner = Locked(false)
            Trampoline.call { inner.withLock { $0 = true } }
            wasCalled.withLock { $0 = inner.withLock { $0 } }
            isDone.signal()
          }
          isDone.wait()
        }
        continuation.resume()
      }
    }
    #expect(wasCalled.withLock { $0 })
  }
}
