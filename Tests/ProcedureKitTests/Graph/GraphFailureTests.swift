import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct GraphFailureTests {
  @Test("A policy that follows modifiers applies to the graph, unless the graph has its own")
  func laterPolicy() async throws {
    let graph = ProcedureGraph("g", returning: Void.self) { g in
      for code in 1...3 { g.add(ProcedureTask("\(code)") { throw TestError(code: code) }) }
    }
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let later = [
      graph.condition("yes") { true }.onFailure(.collect),
      graph.retry(.immediate, maxAttempts: 2).onFailure(.collect),
      graph.onFailure(.collect).condition("yes") { true }.onFailure(.failFast),
    ]
    for procedure in later {
      for run in [procedure, procedure.map { _ in }] {
        let error = await #expect(throws: ProcedureError.self) { try await queue.run(run) }
        #expect(error?.kind == .childrenFailed && error?.failures.count == 3)
      }
      let node = ProcedureGraph("outer") { g in g.add(procedure) }
      let error = await #expect(throws: ProcedureError.self) { try await queue.run(node) }
      #expect(error?.kind == .childrenFailed && error?.failures.count == 3)
    }
    let own = graph.onFailure(.failFast).condition("yes") { true }.onFailure(.collect)
    await #expect(throws: TestError(code: 1)) { try await queue.run(own) }
    let calling = ProcedureTask("caller") { try await graph() }.onFailure(.collect)
    await #expect(throws: TestError(code: 1), "another procedure's policy") { try await queue.run(calling) }
  }

  @Test("A node that is not executed names the nearest and the first failed node, even in a long chain")
  func origin() async throws {
    let graph = ProcedureGraph("g") { g in
      var last = g.add(ProcedureTask<Void, Int>("bad") { throw TestError(code: 1) })
      for number in 1...TestDepth.size(100_000) { last = g.add("n\(number)", from: last) { $0 } }
      return last.catchingErrors()
    }
    guard case .failure(let error as ProcedureError) = try await graph.execute(),
      error.kind == .dependencyFailed, let dependency = error.dependency, let origin = error.origin
    else {
      Issue.record("not the failure of a dependency")
      return
    }
    #expect(
      error.procedure.name == "n\(TestDepth.size(100_000))" && dependency.name == "n\(TestDepth.size(100_000) - 1)"
        && origin.name == "bad")
    #expect(origin.id < dependency.id && error.underlying as? TestError == TestError(code: 1))
  }

  @Test("A node that fails with the failure of an awaited run names where the failure began")
  func originBeyond() async throws {
    let queue = ProcedureQueue("q")
    let bad = queue.add(ProcedureTask<Void, Int>("bad") { throw TestError(code: 1) })
    let stopped = queue.add(ProcedureTask("stopped") { (x: Int) in x }, from: bad)
    let graph = ProcedureGraph("g") { g in
      let reader = g.add(ProcedureTask("reader") { try await stopped.value })
      return g.add("dependent", from: reader) { $0 }.catchingErrors()
    }
    guard case .failure(let error as ProcedureError) = try await queue.run(graph) else {
      Issue.record("not a failure")
      return
    }
    #expect(error.procedure.name == "dependent" && error.origin == bad.identity)
    #expect("\(error)".contains("\"reader\"") && "\(error)".contains("because \(bad.identity) did"))
    #expect(ProcedureError.ignored(procedure: bad.identity, by: "x").origin == nil)
  }
}
