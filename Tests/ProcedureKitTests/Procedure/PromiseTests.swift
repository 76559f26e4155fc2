import Foundation
import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct PromiseTests {
  @Test("A promise can be finished before, during or after a run, and each run has its outcome")
  func finished() async throws {
    let (queue, promise) = (ProcedureQueue("q"), Promise<Int>("reply"))
    let early = queue.add(promise)
    #expect(early.name == "reply" && !promise.isFinished)
    try await eventually { queue.snapshot().procedures.first?.wait == .events(of: "reply") }
    #expect(promise.finish(returning: 1))
    #expect(try await early.value == 1)
    #expect(promise.isFinished)
    #expect(try await queue.run(promise) == 1)
    #expect(try await promise() == 1)
    let failing = Promise<Int>()
    failing.finish(throwing: TestError(code: 2))
    await #expect(throws: TestError(code: 2)) { try await queue.run(failing) }
  }

  @Test("The first of several calls finishes a promise; the others have no effect and return false")
  func twice() async throws {
    let promise = Promise<Int>()
    #expect(promise.finish(returning: 1))
    #expect(!promise.finish(returning: 2))
    #expect(!promise.finish(throwing: TestError(code: 3)))
    #expect(!promise.finish(with: .success(4)))
    #expect(try await promise.execute() == 1)
  }

  @Test("A promise that is released without being finished fails its runs, with and without modifiers")
  func released() async throws {
    let queue = ProcedureQueue("q")
    var promise: Promise<Int>? = Promise("lost")
    let handles = [
      queue.add(try #require(promise)),
      queue.add(try #require(promise).named("named").retry(.immediate, maxAttempts: 2)),
    ]
    promise = nil
    for handle in handles {
      let error = await #expect(throws: ProcedureError.self) { try await handle.value }
      #expect(error?.kind == .promiseReleased && error?.procedure.id == handle.id)
    }
  }

  @Test("A cancelled run ends with the reason, while the promise and its other runs continue")
  func cancelled() async throws {
    let (queue, promise) = (ProcedureQueue("q"), Promise<Int>("reply"))
    let (cancelled, other) = (queue.add(promise), queue.add(promise))
    try await eventually { queue.snapshot().procedures.allSatisfy { $0.wait == .events(of: "reply") } }
    cancelled.cancel(TestError(code: 5))
    await #expect(throws: TestError(code: 5)) { try await cancelled.value }
    #expect(!promise.isFinished)
    promise.finish(returning: 6)
    #expect(try await other.value == 6)
  }

  @Test("cancelAll ends the wait of a promise that run executes in the task of its caller")
  func cancelledByQueue() async throws {
    let (queue, promise) = (ProcedureQueue("q"), Promise<Int>("reply"))
    let caller = Task { try await queue.run(promise) }
    try await eventually { queue.snapshot().procedures.first?.wait == .events(of: "reply") }
    queue.cancelAll(TestError(code: 7))
    await #expect(throws: TestError(code: 7)) { try await caller.value }
    promise.finish(returning: 1)
  }

  @Test("Cancelling a task that executes a promise outside any procedure ends its wait")
  func cancelledOutside() async {
    let promise = Promise<Int>()
    let task = Task { try await promise.execute() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    promise.finish(returning: 1)
  }

  @Test("A run that waits for a promise holds no slot")
  func holdsNoSlot() async throws {
    let (queue, promise) = (ProcedureQueue("q", maxConcurrentProcedures: 1), Promise<Int>())
    let waiting = queue.add(promise)
    queue.add("finishes the promise") { promise.finish(returning: 8) }
    #expect(try await waiting.value == 8)
  }

  @Test("A promise that is finished while its queue is suspended is delivered after the queue was resumed")
  func suspended() async throws {
    let (queue, promise) = (ProcedureQueue("q", isSuspended: true), Promise<Int>())
    let doubled = queue.add("double", from: queue.add(promise)) { $0 * 2 }
    promise.finish(returning: 4)
    #expect(doubled.state == .pending)
    queue.resume()
    #expect(try await doubled.value == 8)
  }

  @Test("A C callback on a separate thread finishes a promise that it received as its context")
  func callback() async throws {
    let (queue, promise) = (ProcedureQueue("q"), Promise<Int>("reply"))
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let context = Unmanaged.passRetained(promise).toOpaque()
    let error = pthread_create(
      &thread, nil,
      { context in
        #if canImport(Darwin)
          Unmanaged<Promise<Int>>.fromOpaque(context).takeRetainedValue().finish(returning: 9)
        #else
          Unmanaged<Promise<Int>>.fromOpaque(context!).takeRetainedValue().finish(returning: 9)
        #endif
        return nil
      }, context)
    #expect(error == 0)
    #expect(try await queue.add(promise).value == 9)
  }
}
