import ProcedureKit
import TestSupport
import Testing

/// What once went wrong between resources, produced children, hooks and limits.
@Suite("What once went wrong where procedures are admitted", .timeLimit(.minutes(10)))
struct AdmissionRegressionTests {
  @Test("Two thousand callers that gave up waiting for room are passed over in a loop, and leave nothing behind")
  func cancelledCallers() async throws {
    let queue = ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 1)
    queue.add(ProcedureTask {})
    let callers = (0..<2_000).map { _ in Task { try await queue.enqueue(ProcedureTask {}) } }
    for caller in callers {
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
    }
    async let last = queue.enqueue(ProcedureTask { 1 })
    await queue.resume()
    #expect(try await last.value == 1)
  }

  @Test("A queue that replaces, whatever its limit is, forgets the keys of what has finished")
  func forgottenKeys() async throws {
    final class Key: Hashable, Sendable {
      let number: Int
      let alive: Box<Int>
      init(_ number: Int, _ alive: Box<Int>) {
        (self.number, self.alive) = (number, alive)
        alive.update { $0 += 1 }
      }
      deinit { alive.update { $0 -= 1 } }
      static func == (one: Key, other: Key) -> Bool { one.number == other.number }
      func hash(into hasher: inout Hasher) { hasher.combine(number) }
    }
    let alive = Box(0)
    let queue = ProcedureQueue("latest", maxWaitingProcedures: 10, overflow: .replaceOldest)
    for number in 0..<1_000 { try await queue.add(ProcedureTask {}.keyed(by: Key(number, alive))).value }
    #expect(alive.value <= 100)
    let unbounded = ProcedureQueue("vast", maxWaitingProcedures: .max - 1, overflow: .replaceNewest)
    for handle in (0..<100).map({ _ in unbounded.add(ProcedureTask {}) }) { try await handle.value }
  }

  @Test("C5: a procedure without a queue that is cancelled cancels its children, and what it waits for")
  func unqueuedParent() async throws {
    let child = ProcedureTask("child") { await untilCancelled() }
    let parent = ProcedureTask("parent") {
      let handle = ProcedureContext.current?.produce(child)
      ProcedureContext.current?.cancel(TestError(code: 1))
      await #expect(throws: TestError(code: 1)) { try await handle?.value }
    }
    await #expect(throws: TestError(code: 1)) { try await parent.execute() }

    let queue = ProcedureQueue("q", isSuspended: true)
    let waiting = ProcedureTask("waiting") {
      let context = try #require(ProcedureContext.current)
      async let inner: Void = queue.run(ProcedureTask { Issue.record("executed") })
      try await eventually { !queue.snapshot().procedures.isEmpty }
      context.cancel(TestError(code: 2))
      try await inner
    }
    await #expect(throws: TestError(code: 2)) { try await waiting.execute() }
  }

  @Test("After its end a procedure produces nothing, wherever it executed", arguments: 0..<4)
  func producedTooLate(way: Int) async throws {
    let queue = ProcedureQueue("q")
    let escaped = Box<ProcedureContext?>(nil)
    let parent = ProcedureTask("parent") { escaped.update { $0 = ProcedureContext.current } }
    switch way {
    case 0: try await parent.execute()
    case 1: try await queue.run(parent)
    case 2: try await queue.add(parent).value
    default:
      try await queue.run(
        ProcedureGraph("graph") { g in
          let first = g.add(parent)
          g.add(ProcedureTask {}, after: [first])
        })
    }
    let late = try #require(escaped.value).produce(ProcedureTask("late") { Issue.record("executed") })
    guard case .failed(let error as ProcedureError) = await late.outcome else {
      Issue.record("\(await late.outcome)")
      return
    }
    #expect(error.kind == .producerFinished)
  }

  @Test("C5: what a procedure produces after it was cancelled is cancelled at once")
  func producedAfterCancel() async throws {
    let queue = ProcedureQueue("q")
    let (started, go) = (Signal(), Signal())
    let child = Box<ProcedureHandle<Void>?>(nil)
    let parent = queue.add(
      ProcedureTask("parent") {
        started.set()
        await untilCancelled()
        let produced = ProcedureContext.current?.produce(ProcedureTask { await untilCancelled() })
        child.update { $0 = produced }
        started.set()
        await go.wait()
      })
    await started.wait()
    parent.cancel(TestError(code: 4))
    try await eventually { child.value != nil }
    guard case .cancelled(let reason) = await child.value?.outcome else { fatalError("the child was not cancelled") }
    #expect(reason as? TestError == TestError(code: 4))
    go.set()
    await #expect(throws: TestError(code: 4)) { try await parent.value }
  }

  @Test("C5: cancelling a chain of procedures of which each has produced the next is a loop")
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

  @Test("A body that a failed child has stopped does not wait for a resource any more")
  func stoppedBodyWaits() async throws {
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive("a"))
    await holds.wait()
    let body = ProcedureTask("body") {
      let child = ProcedureContext.current?.produce(ProcedureTask { () throws in throw TestError(code: 6) })
      _ = await child?.outcome
      try await eventually { ProcedureContext.current?.isCancelled ?? true }
      _ = try await ProcedureTask { Issue.record("executed") }.exclusive("a").execute()
    }
    await #expect(throws: TestError(code: 6)) { try await queue.run(body) }
    release.set()
    try await holder.value
  }

  @Test("Nothing of the user's is called under a lock: the description of a category may look at the queue")
  func describedCategory() async throws {
    struct Category: Hashable, Sendable, CustomStringConvertible {
      let queue: ProcedureQueue
      var description: String { "one of \(queue.snapshot().procedures.count)" }
      static func == (one: Category, other: Category) -> Bool { one.queue === other.queue }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(queue)) }
    }
    let queue = ProcedureQueue("q", resources: ResourceTable())
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive(Category(queue: queue)))
    await holds.wait()
    let waiter = queue.add(ProcedureTask("waiter") {}.exclusive(Category(queue: queue)))
    try await eventually { "\(queue.snapshot())".contains("one of") }
    release.set()
    try await holder.value
    try await waiter.value
  }

  @Test(
    "Nothing of the user's is called under a lock: a category may look at the queue where it is compared, hashed and let go"
  )
  func comparedCategory() async throws {
    let looks = Box(0)
    let table = ResourceTable()
    let queue = ProcedureQueue("q", resources: table)
    let (holds, release) = (Signal(), Signal())
    let holder = queue.add(
      ProcedureTask("holder") {
        holds.set()
        await release.wait()
      }.exclusive(LookingKey(queue, looks)))
    await holds.wait()
    let waiters = (0..<3).map { _ in queue.add(ProcedureTask("waiter") {}.exclusive(LookingKey(queue, looks))) }
    async let ran: Void = queue.run(ProcedureTask {}.shared(LookingKey(queue, looks)))
    async let inside: Void = queue.run(
      ProcedureTask { try await ProcedureTask {}.shared(LookingKey(queue, looks)).execute() })
    release.set()
    try await holder.value
    for waiter in waiters { try await waiter.value }
    _ = try await (ran, inside)
    await queue.waitUntilIdle()
    #expect(looks.value > 10 && table.count == 0)
  }

  @Test("Nothing of the user's is called under a lock: keys by which a full queue replaces may look at it")
  func comparedKeys() async throws {
    let looks = Box(0)
    for overflow in [QueueOverflow.replaceOldest, .replaceNewest] {
      let queue = ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 2, overflow: overflow)
      // Many more than are looked through at once for those that have left.
      for index in 0..<200 {
        let handle = queue.add(ProcedureTask {}.keyed(by: LookingKey(queue, looks)))
        queue.add(ProcedureTask {}.keyed(by: LookingKey(queue, looks)))
        if index.isMultiple(of: 3) { handle.cancel() }
      }
      await queue.cancelAll()
      await queue.resume()
      await queue.waitUntilIdle()
    }
    #expect(looks.value > 800)
  }

  @Test(
    "Keys are compared when a procedure is given one, and not when it comes to a full queue or shares its execution")
  func knownKeys() async throws {
    let looks = Box(0)
    let (queue, other) = (
      ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 1, overflow: .replaceOldest),
      ProcedureQueue("other")
    )
    let keyed = (0..<2).map { _ in ProcedureTask {}.keyed(by: LookingKey(other, looks)) }
    let shared = (0..<2).map { _ in ProcedureTask { 1 }.coalesced(by: LookingKey(other, looks)) }
    let before = looks.value
    #expect(before > 0)
    let first = queue.add(keyed[0])
    let second = queue.add(keyed[1])
    await #expect(throws: ProcedureError.self) { try await first.value }
    for task in shared { #expect(try await other.run(task) == 1) }
    await queue.resume()
    try await second.value
    #expect(looks.value == before)
    withExtendedLifetime((keyed, shared)) {}
  }

  @Test("A failed child ends what the body waits for, wherever that executes", arguments: 0..<4)
  func failedChildStopsTheBody(way: Int) async throws {
    let (queue, other) = (ProcedureQueue("q"), ProcedureQueue("other", isSuspended: true))
    let body = ProcedureTask("body") {
      ProcedureContext.current?.produce(ProcedureTask { () throws in throw TestError(code: 8) })
      _ = try await other.run(ProcedureTask { Issue.record("executed") })
    }
    let graph = ProcedureGraph("graph") { g in
      let first = g.add(ProcedureTask {})
      g.add(body, after: [first])
    }
    await #expect(throws: TestError(code: 8)) {
      switch way {
      case 0: try await queue.run(body)
      case 1: try await queue.add(body).value
      case 2: _ = try await queue.run(graph)
      default: try await body.execute()
      }
    }
  }

  @Test("L3: a hook of the queue that lets no body execute is not followed by the one for bodies that have")
  func noBodyNoHook() async throws {
    var hooks = ProcedureHooks()
    let called = Box<[String]>([])
    hooks.onWillExecute = { _ in
      called.update { $0.append("will") }
      throw TestError(code: 7)
    }
    hooks.onDidExecute = { _, _ in called.update { $0.append("did") } }
    let queue = ProcedureQueue("q", hooks: hooks)
    await #expect(throws: TestError(code: 7)) { try await queue.run(ProcedureTask {}) }
    await #expect(throws: TestError(code: 7)) { try await queue.add(ProcedureTask {}).value }
    #expect(called.value == ["will", "will"])
  }
}

/// A key that looks at a queue, and changes it, wherever it is compared, hashed and let go.
private final class LookingKey: Hashable, Sendable {
  let queue: ProcedureQueue
  let looks: Box<Int>

  init(_ queue: ProcedureQueue, _ looks: Box<Int>) { (self.queue, self.looks) = (queue, looks) }

  deinit { look() }

  private func look() {
    _ = queue.snapshot()
    queue.add(ProcedureTask {}).cancel()
    looks.update { $0 += 1 }
  }

  static func == (one: LookingKey, other: LookingKey) -> Bool {
    one.look()
    return one.queue === other.queue
  }

  func hash(into hasher: inout Hasher) {
    look()
    hasher.combine(ObjectIdentifier(queue))
  }
}
