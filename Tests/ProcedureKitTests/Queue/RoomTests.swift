import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests `tryAdd` and the variants of `enqueue`.
@Suite(.timeLimit(.minutes(10))) struct RoomTests {
  private func makeQueue(_ limit: Int, overflow: QueueOverflow = .refuse, isSuspended: Bool = true) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: isSuspended)
    configuration.maxWaitingProcedures = limit
    configuration.overflow = overflow
    return ProcedureQueue(configuration)
  }

  @Test(
    "tryAdd adds a procedure if there is room, and replaces no other procedure",
    arguments: [QueueOverflow.refuse, .replaceOldest, .replaceNewest])
  func tryAdd(_ overflow: QueueOverflow) async throws {
    let queue = makeQueue(2, overflow: overflow)
    let first = try queue.tryAdd(ProcedureTask { 1 })
    let second = try queue.tryAdd(ProcedureTask { (number: Int) in number }, input: 2, after: [first])
    #expect(kind { try queue.tryAdd(ProcedureTask {}) } == .queueFull)
    #expect(queue.snapshot().procedures.count == 2)
    first.cancel()
    _ = await first.outcome
    let third = try queue.tryAdd(ProcedureTask { 3 })
    queue.resume()
    #expect(try await third.value == 3)
    #expect(await second.outcome.isCancelled)
    #expect(kind { try queue.tryAdd(ProcedureTask {}) } == nil)
  }

  /// Returns the kind of the error that `tryAdd` throws; `nil` if it throws no error.
  private func kind<Output>(_ tryAdd: () throws -> ProcedureHandle<Output>) -> ProcedureError.Kind? {
    do {
      _ = try tryAdd()
      return nil
    } catch {
      return (error as? ProcedureError)?.kind
    }
  }

  @Test("tryAdd does not overtake a caller that is waiting for room")
  func line() async throws {
    let queue = makeQueue(1)
    let first = queue.add(ProcedureTask("first") { 1 })
    let patient = Task { try await queue.enqueue(ProcedureTask("patient") { 2 }) }
    let order = Box<[Int]>([])
    for _ in 0..<50 {
      #expect(kind { try queue.tryAdd(ProcedureTask { order.update { $0.append(3) } }) } == .queueFull)
      await Task.yield()
    }
    queue.resume()
    #expect(try await first.value == 1)
    #expect(try await patient.value.value == 2)
    #expect(order.value == [])
  }

  @Test("tryAdd adds on a queue without a limit, and only for the queue's own bodies after a shutdown")
  func closed() async throws {
    let queue = ProcedureQueue("q")
    #expect(try await queue.tryAdd(ProcedureTask { 1 }).value == 1)
    let (started, isDown) = (Signal(), Signal())
    let body = queue.add(
      ProcedureTask("body") { () -> Int in
        started.set()
        await isDown.wait()
        return try await queue.tryAdd(ProcedureTask { 2 }).value
      })
    await started.wait()
    async let end = queue.shutDown()
    try await eventually { kind { try queue.tryAdd(ProcedureTask {}) } == .queueShutDown }
    isDown.set()
    #expect(try await body.value == 2)
    _ = await end
  }

  @Test("Room that a caller whose deadline has passed does not use goes to the next caller of its key")
  func lateCaller() async throws {
    var configuration = ProcedureQueue.Configuration("q", isSuspended: true)
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    let first = queue.add(ProcedureTask {}.keyed(by: "key"))
    let clock = VirtualClock()
    let deadline = clock.now.advanced(by: .seconds(1))
    let late = Task { try await queue.enqueue(ProcedureTask {}.deadline(deadline, on: clock).keyed(by: "key")) }
    try await eventually { queue.core.read { $0.limiter.callerCount } == 1 }
    clock.advance(by: .seconds(2))
    let next = Task { try await queue.enqueue(ProcedureTask { 2 }.keyed(by: "key")) }
    try await eventually { queue.core.read { $0.limiter.callerCount } == 2 }
    first.cancel()
    let refused = try await late.value
    #expect((await refused.outcome.failure as? ProcedureError)?.kind == .timedOut)
    let isAdmitted = Box(false)
    Task {
      _ = try await next.value
      isAdmitted.update { $0 = true }
    }
    try await eventually { isAdmitted.value }
    queue.resume()
    #expect(try await next.value.value == 2)
  }

  @Test("A procedure whose deadline has passed fails at once instead of waiting for room")
  func pastDeadline() async throws {
    var configuration = ProcedureQueue.Configuration("q", isSuspended: true)
    configuration.maxWaitingProcedures = 1
    let queue = ProcedureQueue(configuration)
    let first = queue.add(ProcedureTask {})
    let late = try await queue.enqueue(ProcedureTask {}.deadline(.now))
    #expect((await late.outcome.failure as? ProcedureError)?.kind == .timedOut)
    #expect(queue.core.read { $0.limiter.callerCount } == 0)
    first.cancel()
  }

  @Test("A cancelled caller whose key had room does not keep the room from the next caller with the same key")
  func leftCaller() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("q")
    configuration.clock = clock
    configuration.maxWaitingProcedures = 2
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    let (started, fail) = (Signal(), Signal())
    let retried = queue.add(
      ProcedureTask("retried") {
        guard !started.isSet else { return }
        started.set()
        await fail.wait()
        throw TestError()
      }
      .retry(.constant(.seconds(1)), maxAttempts: 2))
    await started.wait()
    queue.suspend()
    let own = queue.add(ProcedureTask {}.keyed(by: "key"))
    var callers: [Task<ProcedureHandle<Int>, any Error>] = []
    for number in 1...2 {
      callers.append(Task { try await queue.enqueue(ProcedureTask { number }.keyed(by: "key")) })
      try await eventually { queue.core.read { $0.limiter.callerCount } == number }
    }
    let other = queue.add(ProcedureTask {}.keyed(by: "other"))
    // The pause takes room beyond the limit, so the key has room and the queue has none.
    fail.set()
    try await eventually { retried.state == .pausing }
    own.cancel()
    _ = await own.outcome
    callers[0].cancel()
    await #expect(throws: CancellationError.self) { try await callers[0].value }
    other.cancel()
    _ = await other.outcome
    try await eventually { queue.core.read { $0.limiter.callerCount } == 0 }
    queue.resume()
    #expect(try await callers[1].value.value == 2)
    clock.advance(by: .seconds(1))
    try await retried.value
  }

  @Test("A caller whose key is full again keeps its place, even if many callers were cancelled in the meantime")
  func placeOfCaller() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("q")
    configuration.clock = clock
    configuration.maxWaitingProcedures = 2
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    let fail = [Signal(), Signal()]
    let retried = fail.indices.map { number in
      let task = ProcedureTask<Void, Void>("retried") {
        await fail[number].wait()
        throw TestError()
      }
      .retry(.constant(.seconds(1)), maxAttempts: 2)
      return queue.add(number == 0 ? task : task.keyed(by: "key"))
    }
    try await eventually { retried.allSatisfy { $0.state == .executing } }
    queue.suspend()
    let own = queue.add(ProcedureTask {}.keyed(by: "key"))
    let order = Box<[Int]>([])
    var callers: [Task<ProcedureHandle<Void>, any Error>] = []
    for number in 1...2 {
      let task = ProcedureTask { order.update { $0.append(number) } }.keyed(by: "key")
      callers.append(Task { try await queue.enqueue(task) })
      try await eventually { queue.core.read { $0.limiter.callerCount } == number }
    }
    let other = queue.add(ProcedureTask {}.keyed(by: "other"))
    // The first caller comes next, since its key has room, but the queue has none: the pause takes room beyond the limit.
    fail[0].set()
    try await eventually { retried[0].state == .pausing }
    own.cancel()
    // The key is full again.
    fail[1].set()
    try await eventually { retried[1].state == .pausing }
    for _ in 0..<64 {
      let cancelled = Task { try await queue.enqueue(ProcedureTask {}) }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
    }
    for handle in [other, retried[0]] { handle.cancel() }
    #expect(queue.core.read { $0.limiter.callerCount } == 2)
    retried[1].cancel()
    queue.resume()
    for caller in callers { try await caller.value.value }
    #expect(order.value == [1, 2])
  }

  @Test(
    "tryAdd throws the reason: the queue is full, the key is, or the queue is shut down; the error names the procedure")
  func reasons() async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: true)
    configuration.maxWaitingProcedures = 3
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    func refusal(_ key: String? = nil) -> ProcedureError? {
      let task = ProcedureTask("work") {}
      do {
        _ = try queue.tryAdd(key.map { task.keyed(by: $0) } ?? task)
        return nil
      } catch {
        return error
      }
    }
    #expect(refusal("a") == nil)
    let ofKey = try #require(refusal("a"))
    #expect(ofKey.kind == .queueFull && ofKey.limit == 1 && ofKey.key == "a")
    #expect(ofKey.queue == "q" && ofKey.procedure.name == "work")
    #expect(refusal() == nil && refusal() == nil)
    let ofQueue = try #require(refusal("b"))
    #expect(ofQueue.kind == .queueFull && ofQueue.limit == 3 && ofQueue.key == nil)
    queue.cancelAll()
    await queue.shutDown()
    #expect(refusal()?.kind == .queueShutDown)
  }

  @Test("Every refusal counts once, however a procedure is added", arguments: [false, true])
  func refusalsCount(byShutdown: Bool) async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: true)
    configuration.collectsTotals = true
    if !byShutdown { configuration.maxWaitingProcedures = 1 }
    let queue = ProcedureQueue(configuration)
    let source = ProcedureQueue("source").add(ProcedureTask { 1 })
    if byShutdown { await queue.shutDown() } else { queue.add(ProcedureTask {}) }
    let (double, none) = (ProcedureTask { (n: Int) in 2 * n }, ProcedureTask {})
    let sum = ProcedureTask { (all: [Int]) in all.reduce(0, +) }
    var count = 0
    func expectOneMore(_ way: String) throws {
      count += 1
      let totals = try #require(queue.snapshot().totals)
      #expect(totals.refusedCount == count && totals.failedCount == count && totals.count == count, "\(way)")
    }
    #expect(throws: ProcedureError.self) { try queue.tryAdd(none) }
    try expectOneMore("tryAdd")
    #expect(throws: ProcedureError.self) { try queue.tryAdd(double, input: 1, after: [source]) }
    try expectOneMore("tryAdd of an input")
    _ = await queue.add(none).outcome
    try expectOneMore("add")
    _ = await queue.add(double, input: 1, after: [source]).outcome
    try expectOneMore("add of an input")
    _ = await queue.add(double, from: source).outcome
    try expectOneMore("add of a value")
    _ = await queue.add(sum, from: [source]).outcome
    try expectOneMore("add of an array")
    if byShutdown {
      _ = try await queue.enqueue(none).outcome
      try expectOneMore("enqueue")
      _ = try await queue.enqueue(double, input: 1).outcome
      try expectOneMore("enqueue of an input")
      _ = try await queue.enqueue(double, from: source).outcome
      try expectOneMore("enqueue of a value")
      _ = try await queue.enqueue(sum, from: [source]).outcome
      try expectOneMore("enqueue of an array")
      _ = try? await queue.run(none)
      try expectOneMore("run")
      _ = try? await queue.run(double.retry(.constant(.seconds(1))), input: 1)
      try expectOneMore("run of levels")
      _ = try? await queue.map([1], with: double)
      try expectOneMore("map")
      do {
        for try await _ in queue.results(of: double, over: [1], maxConcurrentElements: 1) {}
      } catch is ProcedureError {}
      try expectOneMore("results")
    } else {
      // A cancelled caller is not refused.
      let patient = Task { try await queue.enqueue(none) }
      patient.cancel()
      _ = await patient.result
      #expect(queue.snapshot().totals?.refusedCount == count)
      queue.cancelAll()
    }
  }

  @Test(
    "A refusal because of the key's limit counts, and so does one for which the queue finds no procedure to replace",
    arguments: [QueueOverflow.refuse, .replaceOldest, .replaceNewest])
  func refusalsOfKeysCount(_ overflow: QueueOverflow) async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1, isSuspended: true)
    (configuration.collectsTotals, configuration.overflow) = (true, overflow)
    (configuration.maxWaitingProcedures, configuration.maxWaitingProceduresPerKey) = (2, 1)
    let queue = ProcedureQueue(configuration)
    func task(_ key: String) -> ProcedureTask<Void, Void> { ProcedureTask {}.keyed(by: key) }
    queue.add(task("a"))
    #expect(kind { try queue.tryAdd(task("a")) } == .queueFull)
    #expect(queue.snapshot().totals?.refusedCount == 1)
    queue.add(task("b"))
    // The queue is full, and has no procedure of this key.
    #expect(kind { try queue.tryAdd(task("c")) } == .queueFull)
    #expect(await queue.add(task("c")).outcome.error(as: ProcedureError.self)?.kind == .queueFull)
    #expect(queue.snapshot().totals?.refusedCount == 3)
    queue.cancelAll()
  }

  @Test("The limit holds for many concurrent callers, and no room is lost")
  func race() async throws {
    let queue = makeQueue(10)
    let counts = await withTaskGroup(of: Int.self, returning: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var count = 0
          for _ in 0..<100 where (try? queue.tryAdd(ProcedureTask {})) != nil { count += 1 }
          return count
        }
      }
      return await group.reduce(0, +)
    }
    #expect(counts == 10)
    queue.resume()
    await queue.waitUntilIdle()
    queue.suspend()
    for _ in 0..<10 { try queue.tryAdd(ProcedureTask {}) }
    #expect(kind { try queue.tryAdd(ProcedureTask {}) } == .queueFull)
    queue.cancelAll()
  }

  @Test(
    "A replacement replaces the oldest or the newest of the key, at a cost that does not depend on the number waiting",
    .timeLimit(.minutes(10)), arguments: [QueueOverflow.replaceOldest, .replaceNewest], [1, 50])
  func replacingManyTimes(overflow: QueueOverflow, keys: Int) async throws {
    func costOfReplacing(_ more: Int, of limit: Int) async -> Duration {
      let queue = makeQueue(limit, overflow: overflow)
      let tasks = (0..<keys).map { ProcedureTask { (n: Int) in n }.keyed(by: $0) }
      var handles = (0..<limit).map { queue.add(tasks[$0 % keys], input: $0) }
      let elapsed = ProcessorTime.measure {
        for number in limit..<limit + more { handles.append(queue.add(tasks[number % keys], input: number)) }
      }
      // Replacing the newest procedure leaves the first procedures of each key, and the very last one.
      let isLeft = { overflow == .replaceOldest ? $0 >= more : $0 < limit - keys || $0 >= limit + more - keys }
      let wrong = handles.indices.filter { handles[$0].state.isFinished == isLeft($0) }
      #expect(wrong.isEmpty, "\(wrong.prefix(10))")
      queue.cancelAll()
      return elapsed / more
    }
    let count = TestDepth.isAtLeastGate ? 2_000 : 800
    let few = await costOfReplacing(count, of: TestDepth.isAtLeastGate ? 1_000 : 500)
    let many = await costOfReplacing(count, of: TestDepth.isAtLeastGate ? 20_000 : 4_000)
    #expect(many < few * 5)
  }

  @Test(
    "A procedure that pauses between two attempts has started, so a newer one does not replace it",
    arguments: [QueueOverflow.replaceOldest, .replaceNewest])
  func pausingIsNotReplaced(overflow: QueueOverflow) async throws {
    let queue = makeQueue(1, overflow: overflow, isSuspended: false)
    let retried = queue.add(
      ProcedureTask("retried") { throw TestError() }.retry(.constant(.seconds(3_600)), maxAttempts: 2))
    try await eventually { retried.state == .pausing }
    let refused = queue.add(ProcedureTask("newer") {})
    let outcome = await refused.outcome
    #expect((outcome.error as? ProcedureError)?.kind == .queueFull, "\(outcome)")
    #expect(retried.state == .pausing)
    retried.cancel()
  }

  @Test("enqueue takes the values of other procedures, typed and as an array, and waits for room")
  func enqueueFrom() async throws {
    let queue = makeQueue(2)
    let source = ProcedureQueue("source")
    let (one, word) = (source.add(ProcedureTask { 1 }), source.add(ProcedureTask { "a" }))
    let typed = try await queue.enqueue(ProcedureTask { (n: Int, s: String) in "\(n)\(s)" }, from: one, word)
    let array = try await queue.enqueue(ProcedureTask { (all: [Int]) in all }, from: [one, one])
    let patient = Task { try await queue.enqueue(ProcedureTask { (n: Int) in n + 1 }, from: one, after: [array]) }
    for _ in 0..<20 { await Task.yield() }
    #expect(queue.snapshot().procedures.count == 2)
    queue.resume()
    #expect(try await typed.value == "1a")
    #expect(try await array.value == [1, 1])
    #expect(try await patient.value.value == 2)
  }

  @Test("A cancelled call of enqueue(from:) adds nothing")
  func cancelledEnqueue() async {
    let queue = makeQueue(1)
    let first = queue.add(ProcedureTask { 1 })
    let patient = Task { try await queue.enqueue(ProcedureTask { (all: [Int]) in all }, from: [first]) }
    for _ in 0..<20 { await Task.yield() }
    patient.cancel()
    await #expect(throws: CancellationError.self) { try await patient.value }
    #expect(queue.snapshot().procedures.count == 1)
    queue.cancelAll()
  }

  @Test("A full queue forgets cancelled callers", arguments: [false, true])
  func callersThatLeft(hasKey: Bool) async throws {
    var configuration = ProcedureQueue.Configuration("full", maxConcurrentProcedures: 1, isSuspended: true)
    configuration.maxWaitingProcedures = hasKey ? 1_000 : 1
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    let waiting = queue.add(ProcedureTask("waiting") {}.keyed(by: "k"))
    for _ in 0..<1_000 {
      let caller = Task { try await queue.enqueue(ProcedureTask {}.keyed(by: "k")) }  // cancelled at once
      caller.cancel()
      await #expect(throws: CancellationError.self) { _ = try await caller.value }
    }
    #expect(queue.core.read { $0.limiter.callerCount } <= 128)
    queue.resume()
    try await waiting.value
    try await queue.enqueue(ProcedureTask {}.keyed(by: "k")).value
  }

  @Test("A nested run and a produced child do not count towards maxWaitingProcedures")
  func childrenTakeNoRoom() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1, maxWaitingProcedures: 1)
    let (started, release) = (Signal(), Signal())
    let blocking = queue.add(
      ProcedureTask("blocking") {
        started.set()
        await release.wait()
        ProcedureContext.current?.produce(ProcedureTask("child") {})
        return await queue.add(ProcedureTask("beside a child") {}).outcome.isFinished
      })
    await started.wait()
    let running = Task { try await queue.run(ProcedureTask("run") {}) }
    try await eventually { queue.snapshot().procedures.count >= 2 }
    let added = queue.add(ProcedureTask("added") {})
    #expect(added.state == .waiting)
    added.cancel()
    _ = await added.outcome
    release.set()
    #expect(try await blocking.value)
    try await running.value
  }

  @Test("2,000 callers that are cancelled while they wait for room leave nothing behind")
  func cancelledCallers() async throws {
    let queue = ProcedureQueue("full", isSuspended: true, maxWaitingProcedures: 1)
    queue.add(ProcedureTask {})
    let callers = (0..<2_000).map { _ in Task { try await queue.enqueue(ProcedureTask {}) } }
    for caller in callers {
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
    }
    async let last = queue.enqueue(ProcedureTask { 1 })
    queue.resume()
    #expect(try await last.value == 1)
  }
}
