import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests `results(of:over:limit:ordered:)`.
@Suite(.timeLimit(.minutes(10))) struct ResultStreamTests {
  /// The same inputs, as a sequence and as an asynchronous sequence.
  enum Source: CaseIterable, Sendable {
    case sequence, stream

    /// Returns the values for the inputs by iterating over them.
    func forEach(
      on queue: ProcedureQueue, of task: ProcedureTask<Int, Int>, over inputs: some Sequence<Int> & Sendable,
      limit: Int? = nil, ordered: Bool = true, _ visit: (Int) async throws -> Bool
    ) async throws {
      switch self {
      case .sequence:
        for try await value in queue.results(of: task, over: inputs, maxConcurrentElements: limit, ordered: ordered) {
          guard try await visit(value) else { return }
        }
      case .stream:
        for try await value in queue.results(
          of: task, over: Later(base: inputs), maxConcurrentElements: limit, ordered: ordered)
        {
          guard try await visit(value) else { return }
        }
      }
    }

    func values(
      on queue: ProcedureQueue, of task: ProcedureTask<Int, Int>, over inputs: some Sequence<Int> & Sendable,
      limit: Int? = nil, ordered: Bool = true
    ) async throws -> [Int] {
      var values: [Int] = []
      try await forEach(on: queue, of: task, over: inputs, limit: limit, ordered: ordered) {
        values.append($0)
        return true
      }
      return values
    }
  }

  /// A sequence that yields before each element, and optionally fails after the last one.
  struct Later<Base: Sequence & Sendable>: AsyncSequence, Sendable where Base.Element: Sendable {
    let base: Base
    var error: TestError?

    struct Iterator: AsyncIteratorProtocol {
      var base: Base.Iterator
      let error: TestError?

      mutating func next() async throws -> Base.Element? {
        await Task.yield()
        if let element = base.next() { return element }
        if let error { throw error }
        return nil
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeIterator(), error: error) }
  }

  static let sources = Source.allCases
  let double = ProcedureTask("double") { (number: Int) in number * 2 }

  @Test(
    "Every element has a value, and the values arrive in order, or in the order of completion", arguments: sources,
    [true, false])
  func values(_ source: Source, _ ordered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    for (count, limit) in [(0, nil), (1, 1), (200, nil), (200, 1), (200, 64), (3, 1_000)] as [(Int, Int?)] {
      let values = try await source.values(on: queue, of: double, over: 0..<count, limit: limit, ordered: ordered)
      #expect((ordered ? values : values.sorted()) == (0..<count).map { $0 * 2 })
    }
  }

  @Test("Without an order, a value arrives as soon as it is available", arguments: sources)
  func unordered(_ source: Source) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 3)
    let gates = (0..<3).map { _ in Signal() }
    let wait = ProcedureTask("wait") { (number: Int) in
      await gates[number].wait()
      return number
    }
    gates[2].set()
    var values: [Int] = []
    try await source.forEach(on: queue, of: wait, over: 0..<3, ordered: false) {
      values.append($0)
      gates[values.count == 1 ? 0 : 1].set()
      return true
    }
    #expect(values == [2, 0, 1])
  }

  @Test("The input is read ahead of the caller only up to the limit", arguments: sources, [1, 3])
  func backPressure(_ source: Source, _ limit: Int) async throws {
    let queue = ProcedureQueue("q")
    let (read, taken, most) = (Box(0), Box(0), Box(0))
    let inputs = (0..<100).lazy.map { number in
      let ahead = read.update { count in
        count += 1
        return count
      }
      most.update { $0 = max($0, ahead - taken.value) }
      return number
    }
    try await source.forEach(on: queue, of: double, over: Lazily(inputs: inputs), limit: limit) { _ in
      for _ in 0..<5 { await Task.yield() }
      taken.update { $0 += 1 }
      return true
    }
    #expect(read.value == 100)
    // The counter does not yet include the value that the caller is processing.
    #expect(most.value <= limit + 1)
    #expect(limit == 1 || most.value > 1)
  }

  /// A lazy sequence counts the elements that are read. Its closure is sendable.
  struct Lazily<Base: Sequence>: Sequence, @unchecked Sendable {
    let inputs: Base
    func makeIterator() -> Base.Iterator { inputs.makeIterator() }
  }

  @Test(
    "An input can be endless, and leaving the loop cancels the executing elements", arguments: sources, [true, false])
  func leaving(_ source: Source, _ ordered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    let cancelled = Signal()
    let task = ProcedureTask("task") { (number: Int) in
      guard number > 0 else { return number }
      await untilCancelled()
      cancelled.set()
      return number
    }
    try await source.forEach(on: queue, of: task, over: Endless(), ordered: ordered) { value in
      #expect(value == 0)
      return false
    }
    await queue.waitUntilIdle()
    #expect(queue.snapshot().procedures.isEmpty)
    if source == .sequence { #expect(cancelled.isSet) }
  }

  struct Endless: Sequence, IteratorProtocol, Sendable {
    var number = -1
    mutating func next() -> Int? {
      number += 1
      return number
    }
  }

  @Test(
    "The first failure is thrown after the remaining elements have been cancelled and have ended", arguments: sources,
    [true, false])
  func failure(_ source: Source, _ ordered: Bool) async throws {
    let unobserved = Box<[String]>([])
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 4)
    configuration.onUnobservedFailure = { failure in unobserved.update { $0.append("\(failure)") } }
    let queue = ProcedureQueue(configuration)
    let (ended, othersStarted, firstArrived) = (Box(0), Signal(), Signal())
    let task = ProcedureTask("task") { (number: Int) in
      if number == 1 {
        await othersStarted.wait()
        // Without an order, the failure could otherwise precede the first value.
        await firstArrived.wait()
        throw TestError(code: 7)
      }
      if number > 1 {
        if number == 3 { othersStarted.set() }
        await untilCancelled()
        ended.update { $0 += 1 }
      }
      return number
    }
    var values: [Int] = []
    var error: (any Error)?
    do {
      try await source.forEach(on: queue, of: task, over: Endless(), limit: 4, ordered: ordered) {
        values.append($0)
        firstArrived.set()
        return true
      }
    } catch let thrown {
      error = thrown
    }
    #expect(error as? TestError == TestError(code: 7))
    #expect(values == [0])
    // When the error is thrown, no element is executing. The fourth element may have been cancelled before its start.
    #expect(ended.value >= 2)
    #expect(queue.snapshot().procedures.isEmpty)
    #expect(unobserved.value == [])
  }

  @Test("Cancelling the iterating task cancels the elements, and throws when they have ended", arguments: sources)
  func cancel(_ source: Source) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (started, ended) = (Signal(), Box(0))
    let task = ProcedureTask("task") { (number: Int) in
      if number == 1 { started.set() }
      await untilCancelled()
      for _ in 0..<20 { await Task.yield() }
      ended.update { $0 += 1 }
      return number
    }
    let iteration = Task { try await source.values(on: queue, of: task, over: Endless()) }
    await started.wait()
    iteration.cancel()
    await #expect(throws: CancellationError.self) { try await iteration.value }
    #expect(ended.value == 2)
    #expect(queue.snapshot().procedures.isEmpty)
  }

  @Test("A wait for an input that never arrives ends when it is cancelled")
  func cancelledInput() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (inputs, source) = AsyncStream.makeStream(of: Int.self)
    let received = Signal()
    let iteration = Task {
      for try await _ in queue.results(of: double, over: inputs) { received.set() }
    }
    source.yield(1)
    await received.wait()
    iteration.cancel()
    await #expect(throws: CancellationError.self) { try await iteration.value }
  }

  @Test("An element starts when its input arrives, even while the caller is busy")
  func readsAhead() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (inputs, source) = AsyncStream.makeStream(of: Int.self)
    let second = Signal()
    let task = ProcedureTask("task") { (number: Int) in
      if number == 2 { second.set() }
      return number
    }
    source.yield(1)
    var values: [Int] = []
    for try await value in queue.results(of: task, over: inputs) {
      values.append(value)
      guard value == 1 else { continue }
      source.yield(2)
      source.finish()
      await second.wait()
    }
    #expect(values == [1, 2])
  }

  @Test("An error of the input is thrown after the values before it", arguments: [true, false])
  func inputError(_ ordered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    var values: [Int] = []
    await #expect(throws: TestError(code: 3)) {
      let inputs = Later(base: 0..<10, error: TestError(code: 3))
      for try await value in queue.results(of: double, over: inputs, ordered: ordered) { values.append(value) }
    }
    #expect(values.sorted() == (0..<10).map { $0 * 2 })
  }

  @Test("Ignored elements are left out, and failures can be values")
  func failuresAsValues() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let odd = ProcedureTask("odd") { (number: Int) in number }
      .configured { number, task in task.condition("odd") { number % 2 == 1 } }
    #expect(try await Source.sequence.values(on: queue, of: odd, over: 0..<6) == [1, 3, 5])

    let picky = ProcedureTask("picky") { (number: Int) in
      if number == 2 { throw TestError(code: number) }
      return number
    }
    var results: [Int] = []
    for try await result in queue.results(of: picky.catchingErrors(), over: 0..<4) {
      results.append((try? result.get()) ?? -1)
    }
    #expect(results == [0, 1, -1, 3])
    let mapped = try await queue.map(0..<4, with: picky.catchingErrors())
    #expect(mapped.map { (try? $0.get()) ?? -1 } == [0, 1, -1, 3])
    let graph = ProcedureGraph("graph") { g, numbers in
      g.map(numbers, with: picky.catchingErrors(), maxConcurrentElements: 2)
    }
    #expect(try await queue.run(graph, input: [2, 3]).map { (try? $0.get()) ?? -1 } == [-1, 3])
    // A cancellation is not a value.
    let handle = queue.add(ProcedureTask("stuck") { await untilCancelled() }.catchingErrors())
    handle.cancel(TestError(code: 9))
    await #expect(throws: TestError(code: 9)) { try await handle.value.get() }
  }

  // MARK: In a body

  @Test(
    "A body that iterates on its own queue of width one does not wait forever", arguments: sources, [true, false])
  func ownQueue(_ source: Source, _ ordered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let monitor = ConcurrencyMonitor()
    let element = ProcedureTask("element") { (number: Int) in
      await monitor.during { await Task.yield() }
      return number
    }
    let sum = ProcedureTask("sum") { () -> Int in
      try await source.values(on: queue, of: element, over: 0..<50, limit: 5, ordered: ordered).reduce(0, +)
    }
    #expect(try await queue.run(sum) == 49 * 25)
    #expect(try await queue.add(sum).value == 49 * 25)
    #expect(monitor.most == 1)
  }

  @Test("Elements share the resources of the body that iterates", arguments: sources, [true, false])
  func resources(_ source: Source, _ ordered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let printer = double.exclusive("printer of streams")
    let body = ProcedureTask("body") {
      try await source.values(on: queue, of: printer, over: 0..<5, ordered: ordered).count
    }
    #expect(try await queue.run(body.exclusive("printer of streams")) == 5)
  }

  @Test(
    "A body can catch the failure of an element, and the body's cancellation reaches the elements", arguments: sources)
  func inBody(_ source: Source) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let failing = ProcedureTask("failing") { (_: Int) -> Int in throw TestError(code: 1) }
    let body = ProcedureTask("body") { () -> Int in
      do {
        return try await source.values(on: queue, of: failing, over: 0..<5).count
      } catch is TestError {
        return -1
      }
    }
    #expect(try await queue.run(body) == -1)
    #expect(try await queue.add(body).value == -1)

    let started = Signal()
    let stuck = ProcedureTask("stuck") { (number: Int) -> Int in
      started.set()
      await untilCancelled()
      return number
    }
    let waiting = queue.add(
      ProcedureTask("waiting") { try await source.values(on: queue, of: stuck, over: 0..<5, ordered: false).count })
    await started.wait()
    waiting.cancel(TestError(code: 2))
    await #expect(throws: TestError(code: 2)) { try await waiting.value }
    #expect(queue.snapshot().procedures.isEmpty)
  }

  // MARK: Limits of the queue

  @Test("Elements wait for room", arguments: sources, [true, false])
  func room(_ source: Source, _ ordered: Bool) async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 1)
    configuration.maxWaitingProcedures = 2
    let queue = ProcedureQueue(configuration)
    let values = try await source.values(on: queue, of: double, over: 0..<50, limit: 10, ordered: ordered)
    #expect(values.count == 50)
  }

  @Test(
    "Shutting a queue down ends an iteration, unless it belongs to a body that is still on the queue",
    arguments: sources)
  func shutDown(_ source: Source) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let (started, isDown) = (Signal(), Signal())
    let body = queue.add(
      ProcedureTask("body") {
        started.set()
        await isDown.wait()
        return try await source.values(on: queue, of: double, over: 0..<5).count
      })
    await started.wait()
    async let end = queue.shutDown()
    try await eventually { (try? queue.tryAdd(double, input: 1)) == nil }
    isDown.set()
    _ = await end
    #expect(try await body.value == 5)
    let error = await #expect(throws: ProcedureError.self) {
      try await source.values(on: queue, of: double, over: 0..<5)
    }
    #expect(error?.kind == .queueShutDown)
  }

  @Test("The reader has the task-local values that the queue carries")
  func carriers() async throws {
    var configuration = ProcedureQueue.Configuration("q", maxConcurrentProcedures: 2)
    configuration.contextCarriers = [ContextCarrier(Self.$request)]
    let queue = ProcedureQueue(configuration)
    let read = ProcedureTask("read") { (number: Int) in Self.request.map { $0 + number } ?? -1 }
    let values = try await Self.$request.withValue(40) {
      try await Source.stream.values(on: queue, of: read, over: 0..<3)
    }
    #expect(values == [40, 41, 42])
  }

  @TaskLocal static var request: Int?

  @Test("Streams can be chained on a queue of width one")
  func pipeline() async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    let first = queue.results(of: double, over: 0..<100)
    var values: [Int] = []
    for try await value in queue.results(of: double, over: first) { values.append(value) }
    #expect(values == (0..<100).map { $0 * 4 })
  }

  @Test("A limit can be as large as `Int.max`", arguments: [true, false])
  func hugeLimit(isOrdered: Bool) async throws {
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    let double = ProcedureTask { (number: Int) in 2 * number }
    var sum = 0
    for try await value in queue.results(of: double, over: 1...100, maxConcurrentElements: .max, ordered: isOrdered) {
      sum += value
    }
    let stream = AsyncStream { continuation in
      for number in 1...100 { continuation.yield(number) }
      continuation.finish()
    }
    for try await value in queue.results(of: double, over: stream, maxConcurrentElements: .max, ordered: isOrdered) {
      sum += value
    }
    #expect(sum == 20_200)
  }
}
