import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Creates a queue with the settings of keys.
private func makeQueue(
  width: Int = 8, isSuspended: Bool = false, clock: any Clock<Duration> = ContinuousClock(),
  _ change: (inout ProcedureQueue.Configuration) -> Void
) -> ProcedureQueue {
  var configuration = ProcedureQueue.Configuration("keyed", maxConcurrentProcedures: width, isSuspended: isSuspended)
  configuration.resources = ResourceTable()
  configuration.clock = clock
  change(&configuration)
  return ProcedureQueue(configuration)
}

extension ProcedureQueue {
  fileprivate nonisolated func waits(of name: String) -> [QueueSnapshot.Wait?] {
    snapshot().procedures.filter { $0.procedure.name == name }.map(\.wait)
  }

  /// The number of keys that the queue knows.
  fileprivate nonisolated var keyCount: Int {
    core.read { $0.machine.fairQueue.count + $0.limiter.keys.count }
  }
}

@Suite("Fairness and limits of keys", .timeLimit(.minutes(10)))
struct KeyTests {
  // MARK: Turns

  @Test(
    "Fairness: among k tenants with work, a single job of a tenant starts after at most k further starts",
    arguments: [1, 3])
  func threeTenants(width: Int) async throws {
    let queue = makeQueue(width: width, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = { @Sendable (tenant: String) in
      ProcedureTask(tenant) { starts.update { $0.append(tenant) } }.keyed(by: tenant)
    }
    var handles: [ProcedureHandle<Void>] = []
    for tenant in ["a", "b"] { handles += (0..<50).map { _ in queue.add(job(tenant)) } }
    handles.append(queue.add(job("c")))
    queue.resume()
    for handle in handles { try await handle.value }
    let place = try #require(starts.value.firstIndex(of: "c"))
    #expect(place <= 2 + width)
    // The others take turns as well.
    if width == 1 { #expect(starts.value.prefix(6) == ["a", "b", "c", "a", "b", "a"]) }
    #expect(queue.keyCount == 0)
  }

  @Test("Fairness: a job added behind the backlogs of 1,000 tenants starts after at most 1,000 further starts")
  func thousandTenants() async throws {
    let queue = makeQueue(width: 1) { $0.fairness = .byKey }
    let starts = Box<[Int]>([])
    let (started, release) = (Signal(), Signal())
    let first = queue.add(
      ProcedureTask("first") {
        started.set()
        await release.wait()
      })
    await started.wait()
    let job = { @Sendable (tenant: Int) in
      ProcedureTask { starts.update { $0.append(tenant) } }.keyed(by: tenant)
    }
    var handles: [ProcedureHandle<Void>] = []
    for tenant in 0..<1_000 { handles += (0..<5).map { _ in queue.add(job(tenant)) } }
    handles.append(queue.add(job(1_000)))
    release.set()
    try await first.value
    for handle in handles { try await handle.value }
    let place = try #require(starts.value.firstIndex(of: 1_000))
    #expect(place <= 1_000 && Set(starts.value.prefix(1_001)).count == 1_001)
    #expect(queue.keyCount == 0)
  }

  @Test("Fairness: starts of another priority do not cost a key its turn")
  func turnsOfPriorities() async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = { @Sendable (name: String, key: String, priority: TaskPriority) in
      ProcedureTask(name) { starts.update { $0.append(name) } }.keyed(by: key).priority(priority)
    }
    // While tenant b works off its backlog, urgent work of tenant a is added repeatedly.
    let backlog = ProcedureTask("b") {
      starts.update { $0.append("b") }
      queue.add(job("high", "a", .high))
    }
    var handles = (0..<20).map { _ in queue.add(backlog.keyed(by: "b").priority(.low)) }
    handles.append(queue.add(job("a", "a", .low)))
    queue.resume()
    for handle in handles { try await handle.value }
    await queue.waitUntilIdle()
    let low = starts.value.filter { $0 != "high" }
    #expect(try #require(low.firstIndex(of: "a")) <= 2)
  }

  @Test(
    "Fairness: keys with weights 1 and 3 start one run and three runs in turn, with any modifiers around the key",
    arguments: Wrapping.allCases)
  func weights(wrapping: Wrapping) async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = ProcedureTask("job") { (key: String) in starts.update { $0.append(key) } }
    var handles: [ProcedureHandle<Void>] = []
    for (key, weight, count) in [("a", 1, 8), ("b", 3, 24)] {
      let keyed = wrapping.wrapped(job) { $0.keyed(by: key, weight: weight) }
      handles += (0..<count).map { _ in queue.add(keyed, input: key) }
    }
    queue.resume()
    for handle in handles { try await handle.value }
    #expect(starts.value == Array(repeating: ["a", "b", "b", "b"], count: 8).flatMap(\.self))
    #expect(queue.keyCount == 0)
  }

  /// The modifiers around a key.
  enum Wrapping: CaseIterable, Sendable {
    case none, map, retry, timeout, configured, graph, keyedTwice

    func wrapped(
      _ job: ProcedureTask<String, Void>, _ keyed: (ProcedureTask<String, Void>) -> ProcedureTask<String, Void>
    ) -> ProcedureTask<String, Void> {
      switch self {
      case .none: keyed(job)
      case .map: keyed(job).map { $0 }
      case .retry: keyed(job).retry(.immediate, maxAttempts: 2)
      case .timeout: keyed(job).timeout(.seconds(1_000))
      case .configured: keyed(job.configured { _, job in job.timeout(.seconds(1_000)) })
      case .graph: keyed(ProcedureGraph("graph") { (g, key: Node<String>) in g.add(job, from: key) }.procedureTask)
      case .keyedTwice: keyed(job.keyed(by: "other", weight: 7))
      }
    }
  }

  @Test("Fairness: a key of weight 1 starts after at most as many runs as the weights of the other keys add up to")
  func smallWeight() async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = { @Sendable (key: String, weight: Int) in
      ProcedureTask(key) { starts.update { $0.append(key) } }.keyed(by: key, weight: weight)
    }
    // The runs of the large keys add others, so these keys always have a backlog.
    let flood = { @Sendable (key: String, weight: Int) in
      ProcedureTask(key) {
        starts.update { $0.append(key) }
        if starts.value.count < 500 { queue.add(job(key, weight)) }
      }.keyed(by: key, weight: weight)
    }
    for _ in 0..<60 {
      queue.add(flood("a", 20))
      queue.add(flood("b", 30))
    }
    for _ in 0..<3 { queue.add(job("c", 1)) }
    queue.resume()
    await queue.waitUntilIdle()
    let places = starts.value.indices.filter { starts.value[$0] == "c" }
    #expect(places == [50, 101, 152])
  }

  @Test("Fairness: the weight of the run that was admitted last applies to its key, also to runs of another priority")
  func latestWeight() async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = { @Sendable (name: String, key: String, weight: Int) in
      ProcedureTask(name, priority: .medium) { starts.update { $0.append(name) } }.keyed(by: key, weight: weight)
    }
    for _ in 0..<4 {
      queue.add(job("a", "a", 1))
      queue.add(job("b", "b", 1))
    }
    queue.add(job("a!", "a", 2).priority(.low))
    queue.resume()
    await queue.waitUntilIdle()
    #expect(starts.value == ["a", "a", "b", "a", "a", "b", "b", "b", "a!"])
  }

  @Test("Fairness: runs without a key have one turn together, and priorities come first")
  func prioritiesFirst() async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { $0.fairness = .byKey }
    let starts = Box<[String]>([])
    let job = { @Sendable (name: String, priority: TaskPriority) in
      ProcedureTask(name, priority: priority) { starts.update { $0.append(name) } }
    }
    var handles = (0..<3).map { _ in queue.add(job("none", .medium)) }
    handles += (0..<2).map { _ in queue.add(job("a", .medium).keyed(by: "a")) }
    handles += (0..<2).map { _ in queue.add(job("a!", .high).keyed(by: "a")) }
    queue.resume()
    for handle in handles { try await handle.value }
    #expect(starts.value == ["a!", "a!", "none", "a", "none", "a", "none"])
  }

  @Test("By default, runs start in order of admission, regardless of their keys")
  func admissionOrder() async throws {
    let queue = makeQueue(width: 1, isSuspended: true) { _ in }
    let starts = Box<[String]>([])
    let handles = ["a", "a", "b", "a", "b"].map { key in
      queue.add(ProcedureTask { starts.update { $0.append(key) } }.keyed(by: key))
    }
    queue.resume()
    for handle in handles { try await handle.value }
    #expect(starts.value == ["a", "a", "b", "a", "b"])
    #expect(queue.keyCount == 0)
  }

  // MARK: Limits of concurrency

  /// The ways in which a run with a key can be started.
  enum KeyedWay: CaseIterable, Sendable {
    case run, add, child, node, nodeWithInput, nested, inherited, graph, elements

    func start(_ subject: ProcedureTask<Void, Void>, on queue: ProcedureQueue) async throws {
      let keyed = subject.keyed(by: "key")
      switch self {
      case .run: try await queue.run(keyed)
      case .add: try await queue.add(keyed).value
      case .child:
        try await queue.run(ProcedureTask("host") { try await ProcedureContext.current?.produce(keyed).value })
      case .node: _ = try await queue.run(ProcedureGraph("host") { $0.add(keyed) })
      case .nodeWithInput:
        _ = try await queue.run(ProcedureGraph("host") { $0.add(keyed, from: $0.add(ProcedureTask("input") {})) })
      case .nested: try await queue.run(ProcedureTask("host") { try await queue.run(keyed) })
      case .inherited:
        try await queue.run(
          ProcedureTask("host") { try await ProcedureContext.current?.produce(subject).value }.keyed(by: "key"))
      case .graph:
        _ = try await queue.run(
          ProcedureGraph("host") { g in g.add(from: (0..<2).map { _ in g.add(subject) }) }.keyed(by: "key"))
      case .elements:
        _ = try await queue.run(
          ProcedureGraph("host") { g in
            g.map(
              g.add(ProcedureTask("input") { [1, 2] }),
              with: ProcedureTask<Int, Void>("subject") { _ in try await subject.execute() }.keyed(by: "key"))
          })
      }
    }
  }

  @Test(
    "At most maxConcurrentProceduresPerKey bodies of a key execute, and other keys are not delayed",
    arguments: KeyedWay.allCases)
  func limit(way: KeyedWay) async throws {
    let queue = makeQueue { $0.maxConcurrentProceduresPerKey = 2 }
    let probe = ProbeProcedure<Void, Void>("subject")
    try await withThrowingTaskGroup { group in
      for _ in 0..<4 { group.addTask { try await way.start(probe.procedureTask, on: queue) } }
      let total = way == .graph || way == .elements ? 8 : 4
      for count in 1...total / 2 {
        try await eventually { probe.monitor.current == 2 }
        // A run of another key and one without a key can start.
        try await queue.run(ProcedureTask {}.keyed(by: "other"))
        try await queue.run(ProcedureTask {})
        for _ in 0..<20 { await Task.yield() }
        #expect(probe.monitor.current == 2 && probe.monitor.total == 2 * count)
        probe.finish(())
        probe.finish(())
        try await eventually { probe.monitor.total >= min(total, 2 * count + 2) || probe.monitor.current == 0 }
      }
      try await group.waitForAll()
    }
    #expect(probe.monitor.most == 2)
    await queue.shutDown()
    #expect(queue.keyCount == 0)
  }

  @Test("A body that waits releases its slot of the key, and reacquires one before it continues")
  func lending() async throws {
    let queue = makeQueue { $0.maxConcurrentProceduresPerKey = 1 }
    let inner = ProcedureTask("inner") {}.keyed(by: "key")
    let outer = ProcedureTask("outer") {
      try await queue.run(inner)
      try await queue.add(inner).value
      try await ProcedureContext.current?.produce(inner).value
      try await inner.execute()
      _ = try await queue.run(ProcedureGraph("graph") { g in g.add(from: (0..<3).map { _ in g.add(inner) }) })
      async let one: Void = queue.run(inner)
      async let other: Void = queue.run(inner)
      _ = try await (one, other)
    }.keyed(by: "key")
    try await queue.run(outer)
    try await queue.add(outer).value

    // A body that continues waits until another body of the key has ended.
    let (other, next) = (ProbeProcedure<Void, Void>("other"), ProbeProcedure<Void, Void>("next"))
    let wentOn = Signal()
    let waiting = queue.add(
      ProcedureTask("waiting") {
        try await queue.run(other.keyed(by: "other"))
        wentOn.set()
      }.keyed(by: "key"))
    try await other.waitUntilStarted()
    let blocking = queue.add(next.keyed(by: "key"))
    try await next.waitUntilStarted()
    other.finish(())
    try await eventually { queue.waits(of: "waiting") == [.key("key", limit: 1)] }
    for _ in 0..<20 { await Task.yield() }
    #expect(!wentOn.isSet)
    next.finish(())
    try await blocking.value
    try await waiting.value
  }

  @Test(
    "A pausing run holds no slot of its key; cancelling, raising and suspending work for runs that wait for their key")
  func beside() async throws {
    let clock = VirtualClock()
    let queue = makeQueue(clock: clock) { $0.maxConcurrentProceduresPerKey = 1 }
    let attempts = Box(0)
    let pausing = queue.add(
      ProcedureTask("pausing") {
        if attempts.update({
          $0 += 1
          return $0
        }) == 1 {
          throw TestError()
        }
      }.retry(.constant(.seconds(10))).keyed(by: "key"))
    try await eventually { pausing.state == .pausing }
    let probe = ProbeProcedure<Void, Void>("probe")
    let executing = queue.add(probe.keyed(by: "key"))
    try await probe.waitUntilStarted()

    let order = Box<[String]>([])
    let add = { @Sendable (name: String, priority: TaskPriority) in
      queue.add(
        ProcedureTask(name, priority: priority) { order.update { $0.append(name) } }.exclusive(name).keyed(by: "key"))
    }
    let (low, cancelled, raised) = (add("low", .low), add("cancelled", .low), add("raised", .low))
    try await eventually {
      ["low", "cancelled", "raised"].allSatisfy { queue.waits(of: $0) == [.key("key", limit: 1)] }
    }
    cancelled.cancel()
    #expect(await cancelled.outcome.isCancelled)
    let urgent = queue.add(ProcedureTask("urgent", priority: .high) {}.keyed(by: "urgent"), after: [raised])

    // A run on a suspended queue releases its claim although it waits for its key.
    queue.suspend()
    var other = ProcedureQueue.Configuration("other")
    other.resources = queue.core.resources
    try await ProcedureQueue(other).run(ProcedureTask {}.exclusive("low", "raised"))
    queue.resume()
    probe.finish(())
    for handle in [executing, low, raised, urgent] { try await handle.value }
    #expect(order.value == ["raised", "low"])
    clock.advance(by: .seconds(10))
    try await pausing.value
    #expect(queue.keyCount == 0)
  }

  @Test("A changed width takes effect for runs that wait for their key, too")
  func width() async throws {
    let queue = makeQueue(width: 1) {
      $0.fairness = .byKey
      $0.maxConcurrentProceduresPerKey = 2
    }
    let probe = ProbeProcedure<Void, Void>("probe")
    let handles = [1, 1, 1, 2, 2, 2].map { queue.add(probe.keyed(by: $0)) }
    try await eventually { probe.monitor.current == 1 }
    queue.setMaxConcurrentProcedures(10)
    try await eventually { probe.monitor.current == 4 }
    #expect(queue.waits(of: "probe").filter { $0 == .key("1", limit: 2) || $0 == .key("2", limit: 2) }.count == 2)
    probe.finishAll(())
    for handle in handles { try await handle.value }
  }

  // MARK: Limits of waiting runs

  @Test("maxWaitingProceduresPerKey refuses with the key in the error, or replaces a run of the key")
  func waitingLimit() async throws {
    for overflow in [QueueOverflow.refuse, .replaceOldest, .replaceNewest] {
      let queue = makeQueue(isSuspended: true) {
        $0.maxWaitingProceduresPerKey = 2
        $0.overflow = overflow
      }
      let handles = ["a", "a", "b", "a"].enumerated().map { index, key in
        queue.add(ProcedureTask("\(key)\(index)") {}.keyed(by: key))
      }
      let keyless = (0..<5).map { _ in queue.add(ProcedureTask {}) }
      queue.resume()
      for handle in keyless { try await handle.value }
      var ends: [String] = []
      for handle in handles {
        ends.append(await handle.outcome.isCancelled ? "-" : await handle.outcome.isFinished ? "+" : "!")
      }
      switch overflow {
      case .refuse:
        #expect(ends == ["+", "+", "+", "!"])
        let error = try #require(await handles[3].outcome.failure as? ProcedureError)
        #expect(
          error.kind == .queueFull
            && "\(error)".contains("full for the key \"a\" because at most 2 procedures with the same key"))
      case .replaceOldest: #expect(ends == ["-", "+", "+", "+"])
      case .replaceNewest: #expect(ends == ["+", "-", "+", "+"])
      }
      await queue.shutDown()
      #expect(queue.keyCount == 0)
    }
  }

  @Test(
    "enqueue waits for room for its key, but not for other keys; a cancelled caller passes its turn on")
  func enqueue() async throws {
    let queue = makeQueue(isSuspended: true) { $0.maxWaitingProceduresPerKey = 1 }
    let order = Box<[String]>([])
    let job = { @Sendable (name: String, key: String) in
      ProcedureTask(name) { order.update { $0.append(name) } }.keyed(by: key)
    }
    let first = queue.add(job("first", "a"))
    let entered = Box(0)
    let callers = (0..<3).map { number in
      Task {
        entered.update { $0 += 1 }
        return try await queue.enqueue(job("\(number)", "a"))
      }
    }
    try await eventually { entered.value == 3 }
    for _ in 0..<50 { await Task.yield() }
    let other = try await queue.enqueue(job("other", "b"))
    let none = try await queue.enqueue(ProcedureTask {})
    callers[1].cancel()
    #expect(await callers[1].result.isCancelled)
    #expect(queue.snapshot().procedures.count == 3)
    queue.resume()
    for handle in [first, other, none] { try await handle.value }
    for caller in [callers[0], callers[2]] { try await caller.value.value }
    #expect(Set(order.value) == ["first", "other", "0", "2"])
    await queue.shutDown()
    #expect(queue.keyCount == 0)
  }

  @Test("A wait for a slot of a key that would never end is an error")
  func deadlock() async throws {
    let queue = makeQueue { $0.maxWaitingProceduresPerKey = 1 }
    let holder = ProcedureTask("holder") {
      let waiting = queue.add(ProcedureTask("waiting") {}.exclusive("resource").keyed(by: "key"))
      _ = try await queue.enqueue(ProcedureTask("later") {}.keyed(by: "key"))
      guard case .failed(let error as ProcedureError) = await waiting.outcome else { return false }
      return error.kind == .exclusionDeadlock
    }.exclusive("resource")
    #expect(try await queue.run(holder))
    await queue.shutDown()
  }

  @Test("Keys that are no longer used leave nothing behind, regardless of the order in which they were used")
  func passingKeys() async throws {
    let queue = makeQueue {
      $0.fairness = .byKey
      $0.maxConcurrentProceduresPerKey = 2
      $0.maxWaitingProceduresPerKey = 3
      $0.overflow = .replaceOldest
    }
    for _ in 0..<10 {
      for number in 0..<TestDepth.size(10_000) {
        queue.add(ProcedureTask {}.keyed(by: number % 7 == 0 ? -1 : number))
      }
      await queue.waitUntilIdle()
      #expect(queue.keyCount == 0)
    }
    #expect(queue.core.read { $0.limiter.replaceableCount } < 200)
  }

  @Test("Fairness: a key at its limit keeps the rest of its turn")
  func weightAndLimit() async throws {
    let queue = makeQueue(width: 2, isSuspended: true) {
      ($0.fairness, $0.maxConcurrentProceduresPerKey) = (.byKey, 1)
    }
    let starts = Box<[String]>([])
    let gates = Box<[String: Signal]>([:])
    let job = { @Sendable (key: String, weight: Int) in
      ProcedureTask(key) {
        let gate = Signal()
        gates.update { $0[key] = gate }
        starts.update { $0.append(key) }
        await gate.wait()
      }.keyed(by: key, weight: weight)
    }
    var handles = (0..<3).map { _ in queue.add(job("a", 3)) }
    handles += [queue.add(job("b", 1)), queue.add(job("c", 1)), queue.add(job("c", 1))]
    queue.resume()
    // While b executes, a continues its turn in the other slot, although c has been waiting.
    for count in 2...4 {
      try await eventually { starts.value.count == count }
      #expect(Array(starts.value.prefix(count).sorted()) == Array(["a", "b", "a", "a"].prefix(count)).sorted())
      gates.value["a"]?.set()
    }
    let end = Task { for handle in handles { try await handle.value } }
    try await eventually {
      for gate in gates.value.values { gate.set() }
      return starts.value.count == 6
    }
    for gate in gates.value.values { gate.set() }
    try await end.value
  }

  @Test("A weight below 1 traps, with a message that names the procedure")
  func weightMistakes() async {
    let zero = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("report") {}.keyed(by: "tenant", weight: 0)
    }
    let negative = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ProcedureTask("report") {}.keyed(by: "tenant", weight: -3)
    }
    let messages = [zero, negative].map { String(decoding: $0?.standardErrorContent ?? [], as: UTF8.self) }
    #expect(messages[0].contains("\"report\": keyed(by:weight:) needs a weight of at least 1, got 0"))
    #expect(messages[1].contains("needs a weight of at least 1, got -3"))
  }

  @Test("A limit of a key below 1 traps")
  func mistakes() async {
    await #expect(processExitsWith: .failure) {
      var configuration = ProcedureQueue.Configuration("narrow")
      configuration.maxConcurrentProceduresPerKey = 0
      _ = ProcedureQueue(configuration)
    }
    await #expect(processExitsWith: .failure) {
      var configuration = ProcedureQueue.Configuration("narrow")
      configuration.maxWaitingProceduresPerKey = 0
      _ = ProcedureQueue(configuration)
    }
  }

  @Test("A queue that replaces waiting procedures forgets the keys of finished ones, regardless of its limit")
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
}

extension Result {
  fileprivate var isCancelled: Bool {
    if case .failure(let error) = self { error is CancellationError } else { false }
  }
}
