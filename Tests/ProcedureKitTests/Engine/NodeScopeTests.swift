import Synchronization
import Testing

@testable import ProcedureKit

/// Nodes see their own context, although it is bound once for many of them.
@Suite struct NodeScopeTests {
  /// A chain of `count` nodes, named by their numbers.
  private func chain(_ count: Int, _ body: @escaping @Sendable (Int) async -> Void) -> ProcedureGraph<Void, Int> {
    ProcedureGraph("chain") { g in
      let first = g.add(ProcedureTask("0") { await body(0) })
      var last = g.add("start", from: first) { _ in 0 }
      for number in 1..<count {
        last = g.add("\(number)", from: last) { before in
          await body(number)
          return before + 1
        }
      }
      return last
    }
  }

  @Test("Every body sees its own node, with an identity of its own")
  func bodies() async throws {
    let seen = Mutex<[ProcedureIdentity]>([])
    _ = try await ProcedureQueue("nodes").run(
      chain(300) { number in
        guard let identity = ProcedureContext.current?.identity else { return }
        if identity.name == "\(number)" { seen.withLock { $0.append(identity) } }
      })
    #expect(seen.withLock { Set($0.map(\.id)).count } == 300)
  }

  @Test("One binding serves many nodes")
  func oneBinding() async throws {
    let scopes = Mutex<Set<ObjectIdentifier>>([])
    let graph = chain(300) { _ in
      let scope = ProcedureContext.current.map { ObjectIdentifier($0.scope) }
      scopes.withLock { scopes in _ = scope.map { scopes.insert($0) } }
    }
    _ = try await ProcedureQueue("nodes").run(graph)
    #expect(scopes.withLock(\.count) == 1)
  }

  @Test("A context that outlives its node goes on to stand for it")
  func storedContexts() async throws {
    let stored = Mutex<[ProcedureContext?]>(Array(repeating: nil, count: 100))
    _ = try await ProcedureQueue("nodes").run(
      chain(100) { number in
        // Every third, so that what was shared and what was not follow one another.
        let context = number % 3 == 0 ? ProcedureContext.current : nil
        stored.withLock { $0[number] = context }
      })
    for number in stride(from: 0, to: 100, by: 3) { #expect(stored.withLock { $0[number]?.name } == "\(number)") }
  }

  @Test("A task that outlives the node that created it goes on to see that node")
  func tasks() async throws {
    let (gate, opening) = AsyncStream.makeStream(of: Never.self)
    let wait = Task { for await _ in gate {} }
    let tasks = Mutex<[Task<String?, Never>]>([])
    _ = try await ProcedureQueue("nodes").run(
      chain(100) { _ in
        let task = Task {
          await wait.value
          return ProcedureContext.current?.name
        }
        tasks.withLock { $0.append(task) }
      })
    opening.finish()
    for (number, task) in tasks.withLock({ $0 }).enumerated() { #expect(await task.value == "\(number)") }
  }

  @Test("A task that has ended before its node leaves the binding to the next")
  func endedTasks() async throws {
    let names = Mutex<[String?]>([])
    _ = try await ProcedureQueue("nodes").run(
      chain(100) { _ in
        async let child = ProcedureContext.current?.name
        let task = Task { ProcedureContext.current?.name }
        let both = [await child, await task.value]
        names.withLock { $0 += both }
      })
    #expect(names.withLock { $0 } == (0..<100).flatMap { ["\($0)", "\($0)"] })
  }

  @Test("A scope tells how many refer to it, and who does not any more does not count")
  func references() async {
    let context = ProcedureContext(scope: UnqueuedScope(name: "test"))
    let plan = ProcedureGraph { g in g.add(ProcedureTask("node") {}) }.plan
    let scope = NodeScope(GraphRun(plan, in: context, limit: 1, stopsAtFirstFailure: true), holder: nil)
    await ProcedureContext(scope: scope).run {
      let references = scope.references
      var stored = ProcedureContext.current
      #expect(stored?.scope === scope)
      #expect(scope.references > references)
      stored = nil
      #expect(scope.references == references)
    }
  }
}
