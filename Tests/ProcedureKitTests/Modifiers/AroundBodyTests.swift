import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Tests `configured`, `reusing`, `intercepted`, and the interceptor of a queue.
@Suite(.timeLimit(.minutes(10))) struct AroundBodyTests {
  struct Request: Sendable {
    var host: String
  }

  enum Span {
    @TaskLocal static var name = ""
  }

  /// Returns a procedure that claims the host of its request, and enters the monitor.
  private static func fetch(_ monitor: ConcurrencyMonitor) -> ProcedureTask<Request, String> {
    ProcedureTask("fetch") { (request: Request) in
      await monitor.during(request.host) { for _ in 0..<5 { await Task.yield() } }
      return request.host
    }.configured { request, procedure in procedure.exclusive("host \(request.host)") }
  }

  @Test(
    "A resource that depends on the input is claimed before the start, so a run that waits for it takes no slot and no worker"
  )
  func configured() async throws {
    let (queue, monitor) = (ProcedureQueue("q", resources: ResourceTable()), ConcurrencyMonitor())
    let go = Signal()
    let holder = queue.add(ProcedureTask { await go.wait() }.exclusive("host a"))
    let handles = (0..<100).map { queue.add(Self.fetch(monitor), input: Request(host: $0 % 2 == 0 ? "a" : "b")) }
    for (index, handle) in handles.enumerated() where index % 2 == 1 { #expect(try await handle.value == "b") }
    #expect(handles.enumerated().allSatisfy { $0.offset % 2 == 1 || $0.element.state == .waiting })
    go.set()
    for handle in handles { _ = try await handle.value }
    _ = await holder.outcome
    #expect(monitor.most(in: "a") == 1 && monitor.most(in: "b") == 1)
    let request = queue.add(ProcedureTask("request") { Request(host: "c") })
    #expect(try await queue.add(Self.fetch(monitor).named("dependent"), from: request).value == "c")
  }

  @Test("Name, priority and key are those from before the input is known; a later modifier wraps the procedure")
  func labels() async throws {
    let queue = ProcedureQueue("q")
    let task = ProcedureTask("inner") { (number: Int) in (number, ProcedureContext.current?.name ?? "") }
      .configured { number, procedure in procedure.named("\(number)").priority(.low).keyed(by: number) }
      .named("outer").priority(.high)
    #expect(task.priority == .high)
    let handle = queue.add(task, input: 3)
    #expect(handle.name == "outer")
    #expect(try await handle.value == (3, "outer"))
    let doubled = try await queue.run(task.map { $0.0 * 2 }.retry(.immediate, maxAttempts: 2), input: 4)
    #expect(doubled == 8)
  }

  @Test("The events report a reused value instead of an execution, and dependents continue with the value")
  func reused() async throws {
    let queue = ProcedureQueue("q")
    let compile = ProcedureTask("compile") { (source: String) in source + ".o" }
      .reusing("up to date") { source in source == "old" ? "old.o, reused" : nil }
    let old = queue.add(compile, input: "old")
    let link = queue.add(ProcedureTask { (object: String) in "linked " + object }, from: old)
    #expect(try await link.value == "linked old.o, reused")
    var names: [String] = []
    for await event in old.events { names.append("\(event.shortName)") }
    #expect(names == ["didAttach", "reused", "willFinish", "didFinish"])
    var kinds: [String] = []
    let new = queue.add(compile, input: "new")
    #expect(try await new.value == "new.o")
    for await event in new.events { kinds.append(event.shortName) }
    #expect(kinds == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
    let graph = ProcedureGraph("build") { (g, source: Node<String>) in
      g.add("link", from: g.add(compile, from: source)) { "linked " + $0 }
    }
    #expect(try await queue.run(graph, input: "old") == "linked old.o, reused")
  }

  @Test("A timeout after a lookup of a value includes the lookup")
  func reuseTimesOut() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock)
    let task = ProcedureTask { 1 }
      .reusing("cached") {
        try? await clock.sleep(for: .seconds(3600))
        return 2
      }
      .timeout(.seconds(5))
    let handle = queue.add(task)
    try await clock.nextSleep()
    clock.advance(by: .seconds(5))
    #expect((await handle.outcome.failure as? ProcedureError)?.kind == .timedOut)
  }

  @Test("An interceptor binds task locals for the body, around all attempts or around each")
  func intercepted() async throws {
    let queue = ProcedureQueue("q", clock: VirtualClock())
    let journal = Box<[String]>([])
    let attempts = Atomic(0)
    let flaky = ProcedureTask("flaky") {
      journal.update { $0.append("body in \(Span.name)") }
      if attempts.add(1, ordering: .relaxed).newValue == 1 { throw TestError(code: 1) }
    }
    @Sendable func span(_ name: String)
      -> @concurrent @Sendable (
        ProcedureContext, @escaping @concurrent @Sendable () async throws -> Void
      ) async throws -> Void
    {
      { context, next in
        try await Span.$name.withValue("\(name) \(context.attempt)") {
          do {
            try await next()
            journal.update { $0.append("\(name) ended") }
          } catch {
            journal.update { $0.append("\(name) failed") }
            throw error
          }
        }
      }
    }
    try await queue.run(flaky.intercepted(span("each")).retry(.immediate, maxAttempts: 3).intercepted(span("all")))
    #expect(
      journal.value == ["body in each 1", "each failed", "body in each 2", "each ended", "all ended"])
  }

  /// Creates a queue whose interceptor records names and errors.
  private static func queue(_ journal: Box<[String]>) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("intercepting")
    configuration.clock = VirtualClock()
    configuration.interceptor = { context, next in
      try await Span.$name.withValue(context.name) {
        do {
          try await next()
          journal.update { $0.append("\(context.name) ended") }
        } catch {
          journal.update { $0.append("\(context.name) failed with \(error)") }
          throw error
        }
      }
    }
    return ProcedureQueue(configuration)
  }

  @Test("A queue's interceptor wraps each procedure, whether it is run, added, produced, retried or a node")
  func ofQueue() async throws {
    let journal = Box<[String]>([])
    let queue = Self.queue(journal)
    let body = ProcedureTask("body") { Span.name }
    #expect(try await queue.run(body.named("run")) == "run")
    #expect(try await queue.add(body.named("added")).value == "added")
    let parent = ProcedureTask("parent") {
      try await ProcedureContext.current?.produce(body.named("child")).value ?? ""
    }
    #expect(try await queue.run(parent) == "child")
    let graph = ProcedureGraph("graph") { g in
      let plain = g.add(body.named("plain"))
      let conditional = g.add(body.named("conditional").condition("yes") { true })
      return g.add("joined", from: plain, conditional) { "\($0), \($1), \(Span.name)" }
    }
    #expect(try await queue.run(graph) == "plain, conditional, joined")
    let names = Set(journal.value)
    #expect(
      names
        == Set(
          ["run", "added", "child", "parent", "plain", "conditional", "joined", "graph"].map { "\($0) ended" }))
    journal.update { $0 = [] }
    let attempts = Atomic(0)
    let flaky = ProcedureTask("flaky") {
      if attempts.add(1, ordering: .relaxed).newValue == 1 { throw TestError(code: 7) }
    }
    try await queue.add(flaky.retry(.immediate, maxAttempts: 2)).value
    #expect(journal.value == ["flaky failed with \(TestError(code: 7))", "flaky ended"])
  }

  @Test("An interceptor that throws fails the procedure, and an interceptor that does not call `next` is an error")
  func skipped() async throws {
    var configuration = ProcedureQueue.Configuration("strict")
    configuration.interceptor = { context, next in
      if context.name == "refused" { throw TestError(code: 5) }
      if context.name == "hidden" { try? await next() }
    }
    let queue = ProcedureQueue(configuration)
    let executed = Atomic(0)
    let body = ProcedureTask("skipped") { _ = executed.add(1, ordering: .relaxed) }
    let error = await #expect(throws: ProcedureError.self) { try await queue.run(body) }
    #expect(error?.kind == .bodySkipped && "\(error as Any)".contains("next()"))
    await #expect(throws: TestError(code: 5)) { try await queue.add(body.named("refused")).value }
    #expect(executed.load(ordering: .relaxed) == 0)
    await #expect(throws: TestError(code: 6)) {
      try await queue.run(ProcedureTask("hidden") { throw TestError(code: 6) })
    }
  }

  @Test("The interceptor of a queue is called once for each node of its graphs, with or without modifiers")
  func interceptedNodes() async throws {
    let journal = Box<[String]>([])
    var configuration = ProcedureQueue.Configuration("intercepting")
    configuration.interceptor = { context, next in
      journal.update { $0.append("will \(context.name)") }
      try await next()
      journal.update { $0.append("did \(context.name)") }
    }
    let queue = ProcedureQueue(configuration)
    let recorder = EventRecorder(queue)
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let plain = g.add(ProcedureTask("plain") { 1 })
      g.add(ProcedureTask("last") { (_: Int) in }.condition("yes") { true }, from: plain)
    }
    let whole = queue.add(graph)
    try await whole.value
    try await recorder.wait(for: .didFinish, of: whole.id)
    #expect(
      journal.value == ["will graph", "will plain", "did plain", "will last", "did last", "did graph"])
    #expect(recorder.events.orderViolations().isEmpty)
    let runs = Dictionary(grouping: recorder.events, by: \.name).mapValues { $0.map(\.shortName) }
    #expect(runs["plain"] == ["didAttach", "willExecute", "didExecute", "willFinish", "didFinish"])
    #expect(runs["last"] == runs["plain"])
  }

  @Test("The first success of a hedge cancels the other copy, but no child that a hook has produced")
  func hedgeWithChild() async throws {
    let (queue, release) = (ProcedureQueue("q"), Signal())
    let child = Box<ProcedureHandle<Void>?>(nil)
    let hedge = ProcedureTask("p") { 1 }.hedged(after: .seconds(600)).onWillExecute { _ in
      let handle = ProcedureContext.current?.produce(ProcedureTask("audit") { await release.wait() })
      child.update { $0 = handle }
    }
    let handle = queue.add(hedge.onDidExecute { _ in release.set() })
    #expect(try await handle.value == 1)
    #expect(await child.value?.outcome.isFinished == true)
  }
}
