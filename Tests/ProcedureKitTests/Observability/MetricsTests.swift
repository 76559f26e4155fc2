import Foundation
import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// Tests `ProcedureEvent.metrics`, `slot` and `dependencies`.
@Suite(.timeLimit(.minutes(10))) struct MetricsTests {
  private let clock = VirtualClock()

  private func queue(
    width: Int = .max, _ change: (inout ProcedureQueue.Configuration) -> Void = { _ in }
  ) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("measured", maxConcurrentProcedures: width)
    configuration.clock = clock
    change(&configuration)
    return ProcedureQueue(configuration)
  }

  /// Returns the metrics of all procedures that end while the body executes, by their names. The clock advances whenever a task sleeps.
  private func metrics(
    on queue: ProcedureQueue, _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> [String: ProcedureMetrics] {
    let events = queue.events
    let reader = Task {  // ends with the queue, below
      var metrics: [String: ProcedureMetrics] = [:]
      var attached: [ProcedureID: ProcedureInstant] = [:]
      for await event in events {
        if event.kind == .didAttach { attached[event.id] = event.instant }
        guard event.kind == .didFinish else { continue }
        metrics[event.name] = event.metrics
        if let start = attached[event.id] {
          #expect(event.metrics?.total == start.duration(to: event.instant), "\(event.name)")
        }
      }
      return metrics
    }
    try await body()
    await queue.shutDown()
    return await reader.value
  }

  private func sleeping(_ name: String, _ seconds: Int) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [clock] in try await clock.sleep(for: .seconds(seconds)) }
  }

  /// Advances the clock to the end of each sleep, as soon as there is one, until the work has ended.
  private func advancing(_ handles: [ProcedureHandle<Void>]) async throws {
    try await eventually {
      if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
      return handles.allSatisfy(\.state.isFinished)
    }
  }

  @Test("Time counts in the phase in which it is spent: dependencies, conditions, slot or body")
  func parts() async throws {
    let queue = queue(width: 1)
    let result = try await metrics(on: queue) {
      let first = queue.add(sleeping("first", 2))
      let second = queue.add(sleeping("second", 3), after: [first])
      let third = queue.add(
        sleeping("third", 1).condition("slow") { [clock] in
          try await clock.sleep(for: .seconds(1))
          return true
        }, after: [second])
      let never = queue.add(ProcedureTask("never") {}.condition("no") { false }, after: [third])
      try await advancing([first, second, third, never])
    }
    #expect(result["first"] == ProcedureMetrics(executing: .seconds(2), attempts: 1))
    #expect(result["second"] == ProcedureMetrics(pending: .seconds(2), executing: .seconds(3), attempts: 1))
    #expect(
      result["third"]
        == ProcedureMetrics(pending: .seconds(5), evaluating: .seconds(1), executing: .seconds(1), attempts: 1))
    #expect(result["never"] == ProcedureMetrics(pending: .seconds(7)))
  }

  @Test("A wait for a slot or a resource counts as waiting, a delay and a back-off as paused")
  func waits() async throws {
    let queue = queue(width: 1)
    let failures = Box(2)
    let result = try await metrics(on: queue) {
      let first = queue.add(sleeping("first", 2))
      try await eventually { first.state == .executing }
      let second = queue.add(sleeping("second", 1))
      try await advancing([first, second])
      let delayed = queue.add(ProcedureTask("delayed") {}.delay(.seconds(4)))
      try await advancing([delayed])
      let retried = queue.add(
        ProcedureTask("retried") {
          if failures.update({
            $0 -= 1
            return $0 >= 0
          }) {
            throw TestError()
          }
        }.retry(.constant(.seconds(5)), maxAttempts: 4))
      try await advancing([retried])
    }
    #expect(result["second"] == ProcedureMetrics(waiting: .seconds(2), executing: .seconds(1), attempts: 1))
    #expect(result["delayed"] == ProcedureMetrics(paused: .seconds(4), attempts: 1))
    #expect(result["retried"] == ProcedureMetrics(paused: .seconds(10), attempts: 3))
  }

  @Test("End hooks and children count as finishing, not as executing, even if the body never ran")
  func finishing() async throws {
    let queue = queue()
    let result = try await metrics(on: queue) {
      let hook: @Sendable (ProcedureOutcome<Void>) async throws -> Void = { [clock] _ in
        try await clock.sleep(for: .seconds(2))
      }
      let parent = ProcedureTask("parent") { [self] in
        _ = ProcedureContext.current?.produce(sleeping("child", 4))
      }
      // The procedures run one after another, because the clock advances whenever a body or a hook sleeps.
      try await advancing([queue.add(sleeping("ran", 3).onWillFinish(hook))])
      try await advancing([queue.add(ProcedureTask("never") {}.condition("no") { false }.onWillFinish(hook))])
      try await advancing([queue.add(parent)])
    }
    #expect(result["ran"] == ProcedureMetrics(executing: .seconds(3), finishing: .seconds(2), attempts: 1))
    #expect(result["never"] == ProcedureMetrics(finishing: .seconds(2)))
    #expect(result["parent"] == ProcedureMetrics(finishing: .seconds(4), attempts: 1))
    #expect(result["child"] == ProcedureMetrics(executing: .seconds(4), attempts: 1))
  }

  @Test(
    "A subscriber that arrives after the end receives the same metrics as an earlier one", arguments: [true, false])
  func replayed(hasLevels: Bool) async throws {
    let queue = queue { $0.collectsTotals = true }
    let work = hasLevels ? sleeping("work", 2).map { $0 }.delay(.seconds(1)) : sleeping("work", 2).delay(.seconds(1))
    let handle = queue.add(work)
    let live = handle.events
    try await advancing([handle])
    let plain = queue.add(sleeping("plain", 2))
    try await advancing([plain])
    let first = await live.reduce(into: []) { $0.append($1) }
    let second = await handle.events.reduce(into: []) { $0.append($1) }
    let expected = ProcedureMetrics(executing: .seconds(2), paused: .seconds(1), attempts: 1)
    #expect(first.last?.metrics == expected && second.last?.metrics == expected)
    let replayed = await plain.events.reduce(into: []) { $0.append($1) }
    #expect(replayed.last?.metrics == ProcedureMetrics(executing: .seconds(2), attempts: 1))
    let failed = queue.add(ProcedureTask<Void, Void>("failed") { throw TestError() })
    _ = await failed.outcome
    let ofFailed = await failed.events.reduce(into: []) { $0.append($1) }
    #expect(ofFailed.last?.metrics?.attempts == 1)
    // Metrics of a version without `finishing` can be read.
    let data = try JSONEncoder().encode(expected)
    var fields = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    fields["finishing"] = nil
    let old = try JSONSerialization.data(withJSONObject: fields)
    #expect(try JSONDecoder().decode(ProcedureMetrics.self, from: old) == expected)
  }

  @Test("A snapshot has each run once, even while nodes with modifiers start and end", .timeLimit(.minutes(10)))
  func snapshotOfNodes() async throws {
    let queue = ProcedureQueue("graphs", maxConcurrentProcedures: 4)
    let graph = ProcedureGraph("graph") { g in
      let nodes = (0..<8).map { g.add(ProcedureTask("node \($0)") {}.exclusive("snapshot \($0 % 2)")) }
      let bare = (0..<4).map { g.add("bare \($0)") { await Task.yield() } }
      return g.add(ProcedureTask("end") {}, after: nodes + bare)
    }
    let isOver = Box(false)
    let (snapshots, twice) = (Box(0), Box<[String]>([]))
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { isOver.update { $0 = true } }
      for _ in 0..<3 {
        group.addTask {
          while !isOver.value {
            let procedures = queue.snapshot().procedures
            let ids = Dictionary(grouping: procedures, by: \.procedure.id).values.filter { $0.count > 1 }
            if !ids.isEmpty { twice.update { $0.append("\(ids)") } }
            snapshots.update { $0 += 1 }
            await Task.yield()
          }
        }
      }
      for _ in 0..<400 { _ = try? await queue.run(graph) }
      try await eventually { snapshots.value >= 3 }
    }
    #expect(twice.value.isEmpty, "\(twice.value.prefix(2))")
  }

  @Test("Nodes are measured from the start of their graph, with modifiers or without, and if they are cancelled")
  func nodes() async throws {
    let queue = queue()
    let result = try await metrics(on: queue) {
      let graph = ProcedureGraph("graph") { g in
        let a = g.add(sleeping("a", 2))
        let b = g.add(sleeping("b", 3).condition("yes") { true }, after: [a])
        return g.add(sleeping("c", 1), after: [b])
      }
      let failing = ProcedureGraph("failing") { g in
        let bad = g.add(ProcedureTask<Void, Void>("bad") { throw TestError() })
        return g.add(ProcedureTask("unstarted") {}, after: [bad])
      }
      let one = queue.add(graph)
      let two = queue.add(failing)
      _ = await two.outcome
      try await advancing([one])
    }
    #expect(result["a"] == ProcedureMetrics(executing: .seconds(2), attempts: 1))
    #expect(result["b"] == ProcedureMetrics(pending: .seconds(2), executing: .seconds(3), attempts: 1))
    #expect(result["c"] == ProcedureMetrics(pending: .seconds(5), executing: .seconds(1), attempts: 1))
    #expect(result["unstarted"] == ProcedureMetrics())
    #expect(result["graph"]?.total == .seconds(6))
  }

  @Test("Nodes of a graph that started before the first subscriber arrived have no metrics, even if they are skipped")
  func lateSubscriber() async throws {
    let queue = queue()
    let (started, release) = (Signal(), Signal())
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      let bad = g.add("bad") {
        started.set()
        await release.wait()
        throw TestError()
      }
      g.add("skipped", after: [bad]) {}
    }
    let handle = queue.add(graph)
    await started.wait()
    let recorder = EventRecorder(queue)
    release.set()
    await #expect(throws: TestError()) { try await handle.value }
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let ends = recorder.events.filter { $0.kind == .didFinish && $0.graph != nil }
    #expect(ends.map(\.name) == ["bad", "skipped"])
    #expect(ends.allSatisfy { $0.metrics == nil }, "\(ends.map(\.metrics))")
  }

  @Test("The didAttach event names the dependencies of a run or a node")
  func dependencies() async throws {
    let queue = queue()
    let recorder = EventRecorder(queue)
    let first = queue.add(ProcedureTask("first") { 1 })
    let second = queue.add(ProcedureTask("second") { (_: Int) in }, from: first)
    try await second.value
    try await queue.run(
      ProcedureGraph("graph") { g in
        let a = g.add("a") {}
        let b = g.add("b") {}
        return g.add(ProcedureTask("c") {}, after: [a, b])
      })
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let events = recorder.events
    func attached(_ name: String) -> ProcedureEvent? { events.first { $0.kind == .didAttach && $0.name == name } }
    #expect(attached("first")?.dependencies == [])
    #expect(attached("second")?.dependencies == [first.id])
    #expect(attached("c")?.dependencies == [attached("a"), attached("b")].compactMap { $0?.id })
  }

  @Test(
    "No two executing bodies have the same slot, and the numbers stay below the width",
    arguments: [1, 3, 70])
  func slots(width: Int) async throws {
    let queue = ProcedureQueue("slots", maxConcurrentProcedures: width)
    let recorder = EventRecorder(queue)
    let work = ProcedureTask("work") { for _ in 0..<3 { await Task.yield() } }
    let handles = (0..<300).map { number in
      number % 3 == 0 ? queue.add(work) : queue.add(work.condition("yes") { true })
    }
    let graph = queue.add(
      ProcedureGraph("graph") { g in g.add(ProcedureTask("end") {}, after: (0..<50).map { _ in g.add(work) }) })
    for handle in handles + [graph] { try await handle.value }
    await queue.shutDown()
    var taken: [Int: ProcedureID] = [:]
    var count = 0
    try await recorder.waitUntilEnded()
    for event in recorder.events where event.name == "work" {
      guard event.kind == .willExecute || event.kind == .didExecute else { continue }
      let slot = try #require(event.slot)
      #expect(slot < width)
      if event.kind == .willExecute {
        #expect(taken[slot] == nil)
        taken[slot] = event.id
        count += 1
      } else {
        #expect(taken.removeValue(forKey: slot) == event.id)
      }
    }
    #expect(count == 350)
  }

  @Test("Totals count each outcome once, and their histograms merge")
  func totals() async throws {
    let queue = queue { $0.collectsTotals = true }
    try await queue.run(ProcedureTask {})
    try await queue.run(ProcedureTask {}.reusing("there") { () })
    _ = try? await queue.run(ProcedureTask<Void, Void> { throw TestError() }.retry(.immediate, maxAttempts: 3))
    _ = try? await queue.run(ProcedureTask {}.condition("no") { false })
    let cancelled = queue.add(ProcedureTask { await untilCancelled() })
    try await eventually { cancelled.state == .executing }
    cancelled.cancel()
    _ = await cancelled.outcome
    await queue.shutDown()
    _ = await queue.add(ProcedureTask {}).outcome
    var totals = try #require(queue.snapshot().totals)
    #expect(totals.finishedCount == 2 && totals.failedCount == 2 && totals.cancelledCount == 1)
    #expect(totals.ignoredCount == 1 && totals.reusedCount == 1 && totals.refusedCount == 1 && totals.retryCount == 2)
    #expect(totals.count == 6 && totals.waiting.count == 5 && totals.executing.count == 3)
    totals.merge(totals)
    #expect(totals.count == 12 && totals.waiting.count == 10)
    #expect(ProcedureQueue("plain").snapshot().totals == nil)
  }

  @Test("A histogram finds quantiles to the precision of its buckets")
  func histogram() throws {
    var histogram = DurationHistogram()
    #expect(histogram.quantile(0.5) == nil)
    for _ in 0..<98 { histogram.record(.milliseconds(2)) }
    histogram.record(.seconds(3))
    histogram.record(.seconds(100_000))
    #expect(histogram.quantile(0) == .microseconds(2_500) && histogram.quantile(0.98) == .microseconds(2_500))
    #expect(histogram.quantile(0.99) == .seconds(5) && histogram.quantile(1) == nil)
    let json = try JSONEncoder().encode(histogram)
    #expect(try JSONDecoder().decode(DurationHistogram.self, from: json) == histogram)
    let negative = Array(repeating: -1, count: DurationHistogram.bounds.count + 1)
    for counts in [[1, 2], negative] {
      let damaged = Data("{\"counts\":\(counts),\"sum\":[0,0]}".utf8)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(DurationHistogram.self, from: damaged) }
    }
    #expect(histogram.count == 100 && DurationHistogram.bounds == DurationHistogram.bounds.sorted())
    #expect(histogram.sum == .milliseconds(196) + .seconds(100_003))
  }

  @Test("A snapshot survives coding")
  func coding() async throws {
    let queue = queue(width: 1) { $0.collectsTotals = true }
    let gate = Signal()
    let first = queue.add(ProcedureTask("first") { await gate.wait() }.exclusive("door"))
    try await eventually { first.state == .executing }
    let others = [
      queue.add(ProcedureTask("second") {}.exclusive("door")), queue.add(ProcedureTask("third") {}.delay(.seconds(9))),
      queue.add(ProcedureTask("fourth") {}, after: [first]), queue.add(ProcedureTask("fifth") {}.keyed(by: "k")),
    ]
    let snapshot = queue.snapshot()
    let copy = try JSONDecoder().decode(QueueSnapshot.self, from: JSONEncoder().encode(snapshot))
    #expect("\(copy)" == "\(snapshot)" && copy.totals == snapshot.totals)
    #expect(copy.procedures.map(\.wait) == snapshot.procedures.map(\.wait))
    #expect(snapshot.procedures.first?.slot == 0 && copy.procedures.first?.slot == 0)
    gate.set()
    try await advancing([first] + others)
  }
}
