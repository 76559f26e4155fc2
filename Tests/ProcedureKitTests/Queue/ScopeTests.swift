import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests that a scope throws the failures of its procedures.
@Suite(.timeLimit(.minutes(10))) struct ScopeTests {
  private static func failing(_ code: Int) -> ProcedureTask<Void, Void> {
    ProcedureTask("failing \(code)") { throw TestError(code: code) }
  }

  /// A procedure that ends only when it is cancelled.
  private static let endless = ProcedureTask("endless") { await untilCancelled() }

  @Test("The failure of an added procedure whose handle was dropped is thrown")
  func dropped() async {
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in queue.add(Self.failing(1)) }
    }
  }

  @Test("The first failure cancels executing, waiting and later procedures, and no later failure counts")
  func failFast() async throws {
    let queues = Box<[ProcedureHandle<Void>]>([])
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
        let running = queue.add(Self.endless)
        let failed = queue.add(Self.failing(1))
        let waiting = queue.add(Self.failing(2), after: [running])
        let dependent = queue.add(Self.failing(3), after: [failed])
        _ = await failed.outcome
        _ = await running.outcome
        queues.update { $0 = [running, waiting, dependent, queue.add(Self.failing(4))] }
      }
    }
    let outcomes = await withTaskGroup { group in
      for handle in queues.value { group.addTask { await handle.outcome } }
      return await group.reduce(into: []) { $0.append($1.isCancelled || $1.failure is ProcedureError) }
    }
    #expect(outcomes == [true, true, true, true])
  }

  @Test("A failure counts even if the body catches it")
  func caught() async {
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in _ = try? await queue.add(Self.failing(1)).value }
    }
  }

  @Test("Procedures that are ignored or deliberately cancelled, and errors thrown by `run`, do not count")
  func whatDoesNotCount() async throws {
    let value = try await withProcedureQueue { queue in
      queue.add(Self.failing(1).condition("never") { false })
      let running = queue.add(Self.endless)
      running.cancel(TestError(code: 2))
      _ = try? await queue.run(Self.failing(4))
      return 5
    }
    #expect(value == 5)
  }

  @Test("A timeout counts as a failure of the scope")
  func timedOut() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("scope")
    configuration.clock = clock
    let scope = Task { [configuration] in
      try await withProcedureQueue(configuration) { $0.add(Self.endless.timeout(.seconds(5))) }
    }
    try await clock.nextSleep()
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: ProcedureError.self) { _ = try await scope.value }
    #expect(error?.kind == .timedOut)
  }

  @Test("With the policy `collect`, all procedures run, and all failures are thrown, the body's last")
  func collecting() async {
    let ran = Box(0)
    let error = await #expect(throws: ProcedureError.self) {
      try await withProcedureQueue(maxConcurrentProcedures: 1, onFailure: .collect) { queue in
        let handles = (1...3).map { queue.add(Self.failing($0)) }
        for _ in 0..<3 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
        for handle in handles { _ = await handle.outcome }
        await queue.waitUntilIdle()
        throw TestError(code: 4)
      }
    }
    #expect(error?.kind == .childrenFailed && error?.procedure.name == "withProcedureQueue", "\(error as Any)")
    #expect(error?.procedure.description == "\"withProcedureQueue\"")
    #expect(error?.failures.compactMap { ($0.error as? TestError)?.code } == [1, 2, 3, 4])
    #expect(ran.value == 3)
  }

  @Test("The error of the body is thrown if it occurs first, but not if it is merely the result of a failure")
  func bodyError() async {
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in
        queue.add(Self.endless)
        throw TestError(code: 1)
      }
    }
    await #expect(throws: TestError(code: 2)) {
      try await withProcedureQueue { queue in
        let running = queue.add(Self.endless)
        queue.add(Self.failing(2))
        // The wait ends with a `CancellationError`, because the failure has cancelled it.
        try await running.value
      }
    }
  }

  @Test("A scope throws the error of a failed node, or of a failed child, as it is")
  func parts() async {
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in queue.add(ProcedureGraph { g in g.add(Self.failing(1)) }) }
    }
    await #expect(throws: TestError(code: 2)) {
      try await withProcedureQueue { queue in
        queue.add(ProcedureTask { ProcedureContext.current?.produce(Self.failing(2)) })
      }
    }
  }

  @Test("A scope within a body releases the body's slot, and its failure is the failure of the body")
  func nested() async {
    let queue = ProcedureQueue("narrow", maxConcurrentProcedures: 1)
    await #expect(throws: TestError(code: 1)) {
      try await queue.run(
        ProcedureTask {
          try await withProcedureQueue { scope in
            scope.add(ProcedureTask { try await queue.run(Self.failing(1)) })
          }
        })
    }
  }

  @Test("withProcedureQueue returns when everything has finished; an error or a cancellation cancels the rest first")
  func scope() async throws {
    let ran = Box(0)
    let returned = try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
      for _ in 0..<50 { queue.add(ProcedureTask { ran.update { $0 += 1 } }) }
      return 7
    }
    #expect(returned == 7 && ran.value == 50)
    let cancelled = Box(0)
    await #expect(throws: TestError(code: 1)) {
      try await withProcedureQueue { queue in
        let started = Signal()
        queue.add(
          ProcedureTask {
            started.set()
            await untilCancelled()
            cancelled.update { $0 += 1 }
          })
        await started.wait()
        throw TestError(code: 1)
      }
    }
    #expect(cancelled.value == 1)
    let started = Signal()
    let scope = Task {
      try await withProcedureQueue { queue in
        let first = queue.add(
          ProcedureTask {
            started.set()
            await untilCancelled()
          })
        _ = await first.outcome
        let late = queue.add(ProcedureTask { 1 })
        return await late.outcome.value
      }
    }
    await started.wait()
    scope.cancel()
    #expect(try await scope.value == nil)
  }
}

/// Tests failures that only the scope can report.
@Suite(.timeLimit(.minutes(10))) struct ScopeFailureTests {
  private static func failing(_ code: Int) -> ProcedureTask<Void, Void> {
    ProcedureTask("failing \(code)") { throw TestError(code: code) }
  }

  @Test("A dependency that fails on another queue is a failure of the scope, once", arguments: [true, false])
  func outside(failsFast: Bool) async {
    let outside = ProcedureQueue("outside")
    let error = await #expect(throws: ProcedureError.self) {
      try await withProcedureQueue("scope", onFailure: failsFast ? .failFast : .collect) { queue in
        let first = queue.add(ProcedureTask("first") {}, after: [outside.add(Self.failing(1))])
        queue.add(ProcedureTask("second") {}, after: [first])
      }
    }
    if failsFast {
      #expect(error?.kind == .dependencyFailed && error?.underlying as? TestError == TestError(code: 1))
    } else {
      #expect(error?.failures.map(\.procedure.name) == ["first"])
    }
  }

  @Test("A dependency that fails on the same queue counts once")
  func inside() async {
    let error = await #expect(throws: ProcedureError.self) {
      try await withProcedureQueue("scope", onFailure: .collect) { queue in
        queue.add(ProcedureTask("second") {}, after: [queue.add(Self.failing(1))])
      }
    }
    #expect(error?.failures.map(\.procedure.name) == ["failing 1"])
  }

  @Test("A procedure that a body adds while the scope is draining counts")
  func draining() async {
    let gate = Signal()
    await #expect(throws: TestError(code: 2)) {
      try await withProcedureQueue("scope") { queue in
        queue.add(
          ProcedureTask("adds") {
            await gate.wait()
            queue.add(Self.failing(2))
          })
        gate.set()
      }
    }
  }

  @Test("The failure of a procedure that is added after the end of a scope is reported as unobserved")
  func afterTheEnd() async throws {
    let (reported, arrival) = (Box<[String]>([]), Signal())
    var configuration = ProcedureQueue.Configuration("scope")
    configuration.onUnobservedFailure = { failure in
      reported.update { $0.append(failure.procedure.name) }
      arrival.set()
    }
    let escaped = try await withProcedureQueue(configuration) { $0 }
    escaped.add(ProcedureTask("late") {})
    await arrival.wait()
    #expect(reported.value == ["late"])
  }

  @Test("A failure counts immediately, even if an end hook of the failed procedure waits for the others")
  func hookOfTheEnd() async {
    let cancelled = Signal()
    await #expect(throws: TestError(code: 3)) {
      try await withProcedureQueue("scope") { queue in
        queue.add(
          ProcedureTask("other") {
            await untilCancelled()
            cancelled.set()
          })
        queue.add(Self.failing(3).onDidFinish { _ in await cancelled.wait() })
      }
    }
  }

  @Test("A child that its finished parent refuses is reported as an unobserved failure")
  func refusedChild() async throws {
    let (reported, arrival) = (Box<[String]>([]), Signal())
    var configuration = ProcedureQueue.Configuration("plain")
    configuration.onUnobservedFailure = { failure in
      reported.update { $0.append(failure.procedure.name) }
      arrival.set()
    }
    let queue = ProcedureQueue(configuration)
    let context = try await queue.run(ProcedureTask("parent") { ProcedureContext.current })
    context?.produce(ProcedureTask("child") {})
    await arrival.wait()
    #expect(reported.value == ["child"])
  }
}
