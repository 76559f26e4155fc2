import Dispatch
import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct BlockingExecutorTests {
  private static func queue(width: Int, maxThreads: Int) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("blocking", maxConcurrentProcedures: width)
    configuration.executor = BlockingExecutor("blocking", maxThreads: maxThreads)
    return ProcedureQueue(configuration)
  }

  @Test("Bodies that block delay neither each other nor other tasks")
  func allBlocked() async throws {
    let queue = Self.queue(width: 16, maxThreads: 16)
    let (blocked, continuation) = AsyncStream<Void>.makeStream()
    let release = DispatchSemaphore(value: 0)
    let handles = (0..<16).map { number in
      queue.add(
        ProcedureTask("block") {
          continuation.yield()
          release.wait()
          return number
        })
    }
    // This task receives an element from each body while all of the bodies are blocked.
    for await _ in blocked.prefix(16) {}
    for _ in handles { release.signal() }
    for (number, handle) in handles.enumerated() { #expect(try await handle.value == number) }
  }

  @Test("At most maxThreads jobs are executed at the same time, and a suspended body occupies no thread")
  func limit() async throws {
    let queue = Self.queue(width: 50, maxThreads: 2)
    let executing = Atomic(0)
    let most = Atomic(0)
    let (arrivals, continuation) = AsyncStream<Void>.makeStream()
    let release = Promise<Void>("release")
    let handles = (0..<50).map { _ in
      queue.add(
        ProcedureTask("count") {
          most.max(executing.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
          executing.subtract(1, ordering: .relaxed)
          continuation.yield()
          try await release()
        })
    }
    // All bodies are suspended at the same time, although there are only two threads.
    for await _ in arrivals.prefix(handles.count) {}
    _ = release.finish(returning: ())
    for handle in handles { try await handle.value }
    #expect(most.load(ordering: .relaxed) <= 2)
  }

  /// A procedure that blocks its thread until the run is cancelled.
  private static func blocking(_ didBlock: @escaping @Sendable () -> Void = {}) -> ProcedureTask<Void, Void> {
    ProcedureTask("block") {
      let end = DispatchSemaphore(value: 0)
      await withTaskCancellationHandler {
        didBlock()
        end.wait()
      } onCancel: {
        end.signal()
      }
    }
  }

  @Test("Timeouts and deadlines take effect while all threads are blocked")
  func timersWhileBlocked() async throws {
    let queue = Self.queue(width: 2, maxThreads: 2)
    let (blocked, continuation) = AsyncStream<Void>.makeStream()
    let limited = queue.add(Self.blocking { continuation.yield() }.timeout(.milliseconds(100)))
    let other = queue.add(Self.blocking { continuation.yield() })
    for await _ in blocked.prefix(2) {}
    await #expect(throws: ProcedureError.self) { try await limited.value }
    // If the deadline passes after the body has started, both threads are blocked again.
    let expiring = queue.add(Self.blocking().deadline(.now + .milliseconds(100)))
    await #expect(throws: ProcedureError.self) { try await expiring.value }
    other.cancel()
    #expect(await other.outcome.isCancelled)
  }

  @Test("The grace period of shutDown ends while all threads are blocked")
  func graceWhileBlocked() async throws {
    let queue = Self.queue(width: 2, maxThreads: 2)
    let (blocked, continuation) = AsyncStream<Void>.makeStream()
    let handles = (0..<2).map { _ in queue.add(Self.blocking { continuation.yield() }) }
    for await _ in blocked.prefix(2) {}
    await queue.shutDown(grace: .milliseconds(50))
    for handle in handles { #expect(await handle.outcome.isCancelled) }
  }

  @Test("Jobs are executed in the order in which they arrive")
  func order() async throws {
    let queue = Self.queue(width: 1, maxThreads: 1)
    let order = Mutex<[Int]>([])
    let handles = (0..<100).map { number in
      queue.add(ProcedureTask("append") { order.withLock { $0.append(number) } })
    }
    for handle in handles { try await handle.value }
    #expect(order.withLock { $0 } == Array(0..<100))
  }

  @Test("A call executes on the threads of its queue's executor, and its caller continues elsewhere")
  func call() async throws {
    let executor = BlockingExecutor("calls", maxThreads: 1)
    var configuration = ProcedureQueue.Configuration("calls")
    configuration.executor = executor
    let queue = ProcedureQueue(configuration)
    let isOnExecutor = try await queue.run(
      ProcedureTask("where") {
        withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor.asUnownedTaskExecutor() }
      })
    #expect(isOnExecutor)
    #expect(withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil })
  }

  #if os(Linux)
    @Test("The threads end when the executor is released, even if one of its own jobs releases it")
    func end() async throws {
      let name = "ends-with-exec"  // the system keeps 15 bytes
      func threadCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
          (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) == name + "\n"
        }
      }
      do {
        var configuration = ProcedureQueue.Configuration("ending", maxConcurrentProcedures: 3)
        configuration.executor = BlockingExecutor(name, maxThreads: 3)
        let queue = ProcedureQueue(configuration)
        let (blocked, continuation) = AsyncStream<Void>.makeStream()
        let release = DispatchSemaphore(value: 0)
        let handles = (0..<3).map { _ in
          queue.add(
            ProcedureTask("block") {
              continuation.yield()
              release.wait()
            })
        }
        for await _ in blocked.prefix(3) {}
        // While other threads end, the system can omit some from the list.
        try await eventually { try threadCount() == 3 }
        for _ in handles { release.signal() }
        for handle in handles { try await handle.value }
      }
      try await eventually { try threadCount() == 0 }
    }
  #endif

  #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
    @Test("A pool without threads is a programming mistake")
    func noThreads() async {
      await #expect(processExitsWith: .failure) {
        _ = BlockingExecutor("none", maxThreads: 0)
      }
    }
  #endif
}
