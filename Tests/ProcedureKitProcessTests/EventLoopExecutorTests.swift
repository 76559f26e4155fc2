import Foundation
import ProcedureKit
import ProcedureKitProcess
import Synchronization
import Testing
import TestingProcedureKit

/// Tests bodies that execute on the thread that waits for programs.
@Suite(.timeLimit(.minutes(10))) struct EventLoopExecutorTests {
  private let executor: EventLoopExecutor
  private let queue: ProcedureQueue

  init() throws {
    executor = try EventLoopExecutor.shared
    var configuration = ProcedureQueue.Configuration("event loop", maxConcurrentProcedures: 4)
    configuration.executor = executor
    queue = ProcedureQueue(configuration)
  }

  /// The threads on which bodies were executed.
  private final class Threads: Sendable {
    private let seen = Mutex<Set<ObjectIdentifier>>([])

    func note() {
      let thread = ObjectIdentifier(Thread.current)
      seen.withLock { _ = $0.insert(thread) }
    }

    var count: Int { seen.withLock { $0.count } }
  }

  @Test("Bodies continue on one thread before and after their programs, and after work elsewhere")
  func oneThread() async throws {
    let (here, elsewhere) = (Threads(), Threads())
    let work = ProcedureTask<Int, Void>("work") { _ in
      here.note()
      _ = try await ProcessProcedure().execute(ProcessRequest("true"))
      here.note()
      await withTaskExecutorPreference(globalConcurrentExecutor) { elsewhere.note() }
      here.note()
    }
    _ = try await queue.map(0..<20, with: work)
    #expect(here.count == 1 && elsewhere.count >= 1)
    // The same thread waits for the programs of all queues.
    await withTaskExecutorPreference(executor) { here.note() }
    #expect(here.count == 1)
  }

  @Test("Jobs from all threads are executed, even if they arrive when the thread is about to wait")
  func jobs() async {
    let here = Threads()
    await withTaskGroup { [executor] group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 { await withTaskExecutorPreference(executor) { here.note() } }
        }
      }
    }
    #expect(here.count == 1)
  }

  @Test("A body that always has more jobs does not delay the program of another body")
  func turns() async throws {
    let isDone = Mutex(false)
    let busy = queue.add(
      ProcedureTask<Void, Void>("busy") { while !isDone.withLock({ $0 }) { await Task.yield() } })
    let program = queue.add(ProcessProcedure(), input: .shell("echo kitten; exit 0"))
    _ = await program.outcome
    isDone.withLock { $0 = true }
    try await busy.value
    #expect(try await program.value.text == "kitten\n")
  }

  @Test("A cancellation from another thread ends a program, and so does a timeout")
  func cancel() async throws {
    let (launches, launched) = AsyncStream.makeStream(of: ProcessControl.self)
    var procedure = ProcessProcedure()
    procedure.onLaunch = { launched.yield($0) }
    let handle = queue.add(procedure, input: .shell("sleep 1000"))
    let control = try #require(await launches.first { _ in true })
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(!control.send(SIGTERM))
    let late = queue.add(ProcessProcedure().timeout(.milliseconds(1)), input: .shell("sleep 1000"))
    guard case .failed(let error as ProcedureError) = await late.outcome else {
      Issue.record("no timeout")
      return
    }
    #expect(error.kind == .timedOut)
  }
}
