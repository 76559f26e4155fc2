import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKitDiagnostics

@Suite(
  "The critical path leads to the cause that let each run continue, and its parts add up", .timeLimit(.minutes(10)))
struct CriticalPathTests {
  private let clock = VirtualClock()

  private func queue(_ name: String = "q", width: Int) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: width)
    configuration.clock = clock
    configuration.executor = clock.executor
    return ProcedureQueue(configuration)
  }

  /// Records queues that share the clock, until everything that `work` adds has ended.
  private func record(_ queues: [ProcedureQueue], _ work: () -> Void) async throws -> RunRecording {
    let feeds = queues.map { $0.feed() }
    work()
    try await clock.run(for: .seconds(1_000_000))
    var store = RunRecordStore(limit: 10_000)
    for feed in feeds {
      feed.stop()
      while let event = await feed.next() {
        store.take(event, of: feed.queueName, offset: .zero, reason: RunRecordStore.reason(in: event))
      }
    }
    return store.recording
  }

  private func sleeping(_ name: String, _ seconds: Int) -> ProcedureTask<Void, Void> {
    ProcedureTask(name) { [clock] in try await clock.sleep(for: .seconds(seconds)) }
  }

  /// Returns the steps as names and seconds.
  private func steps(_ recording: RunRecording) -> [String] {
    CriticalPath(recording).steps.map { "\($0.name) \($0.duration.components.seconds)" }
  }

  @Test("Each of 41 runs on two slots leads to the run that held its slot")
  func width() async throws {
    let queue = queue(width: 2)
    let recording = try await record([queue]) {
      for number in 0..<41 { queue.add(sleeping("hash \(number)", 100 + number)) }
    }
    let path = CriticalPath(recording)
    #expect(path.steps.map(\.name) == (0...20).map { "hash \(2 * $0)" })
    #expect(path.steps.map(\.duration) == (0...20).map { .seconds(100 + 2 * $0) })
    #expect(path.steps.allSatisfy { $0.executing == $0.duration })
    #expect(path.duration == .seconds(2_520) && path.duration == recording.runs.compactMap(\.end).max())
  }

  private struct Key: GraphKey {
    typealias Value = Int
    var name: String
  }

  @Test("The path leads through values that bodies have requested by key, and a diagram has an arrow for each request")
  func requests() async throws {
    let queue = queue(width: .max)
    let recording = try await record([queue]) { [clock] in
      let graph = ProcedureGraph("graph") { g in
        g.values(for: Key.self) { key, context in
          if key.name == "leaf" {
            try await clock.sleep(for: .seconds(10))
            return 1
          }
          try await clock.sleep(for: .seconds(3))
          let leaf = try await context.value(of: Key(name: "leaf"))
          try await clock.sleep(for: .seconds(4))
          return leaf + 1
        }
        let side = g.add("side") { try await ProcedureContext.value(of: Key(name: "leaf")) }
        let main = g.add("main") {
          try await clock.sleep(for: .seconds(1))
          let value = try await ProcedureContext.value(of: Key(name: "inner"))
          // The value exists, so the body does not wait for it.
          _ = try await ProcedureContext.value(of: Key(name: "leaf"))
          try await clock.sleep(for: .seconds(2))
          return value
        }
        return g.add("sum", from: side, main) { $0 + $1 }
      }
      queue.add(graph)
    }
    #expect(steps(recording) == ["leaf 10", "inner 4", "main 2"])
    let diagram = RunDiagram(recording)
    let arrows = diagram.arrows.map { "\(diagram.runs[$0.from].name) \(diagram.runs[$0.to].name) \($0.isCritical)" }
    #expect(
      arrows.sorted() == [
        "inner main true", "leaf inner true", "leaf main false", "leaf side false", "main sum false", "side sum false",
      ])
    let graph = try #require(recording.runs.first { $0.name == "graph" })
    #expect(recording.runs.filter { ["leaf", "inner"].contains($0.name) }.allSatisfy { $0.parent == graph.id })
  }

  @Test("The elements of one map are one row with their number, their sum, and the slowest one")
  func map() async throws {
    let queue = queue(width: 2)
    let recording = try await record([queue]) {
      let hash = ProcedureTask("hash") { [clock] (number: Int) in try await clock.sleep(for: .seconds(100 + number)) }
      queue.add(
        ProcedureTask("all") { [clock] in
          try await clock.sleep(for: .seconds(7))
          _ = try await queue.map(0..<41, with: hash, elementName: { "file \($0)" })
        })
    }
    let path = CriticalPath(recording)
    #expect(path.rows.map(\.name) == ["all", "hash"] && path.rows.map(\.count) == [1, 21])
    #expect(path.rows.map(\.duration) == [.seconds(7), .seconds(2_520)])
    #expect(path.rows[1].slowest.name == "file 40" && path.rows[1].slowest.duration == .seconds(140))
    let report = RunReport(recording)
    let group = try #require(report.groups.first { $0.name == "hash" })
    #expect(group.count == 41 && group.executing == .seconds(41 * 120))
    #expect(group.slowest == "file 40" && group.longest == .seconds(140))
    #expect(report.text.contains("    21 runs, slowest: file 40, 2 min 20 s\n"), "\(report.text)")
    #expect(report.text.contains("    slowest: file 40\n") && report.html.contains("<small>slowest: file 40</small>"))
    #expect(!report.text.contains("gather"))
  }

  @Test("An element whose body awaits others is one run of its row, with the sum of its steps")
  func awaitingElement() async throws {
    let queue = queue(width: 2)
    let recording = try await record([queue]) {
      let element = ProcedureTask("element") { [clock] (number: Int) in
        try await clock.sleep(for: .seconds(number))
        try await queue.run(sleeping("a", 10))
        try await clock.sleep(for: .seconds(2))
        try await queue.run(sleeping("b", 20))
        try await clock.sleep(for: .seconds(3))
      }
      queue.add(ProcedureTask("all") { _ = try await queue.map([1], with: element) })
    }
    #expect(steps(recording) == ["element[0] 1", "a 10", "element[0] 2", "b 20", "element[0] 3"])
    let row = try #require(CriticalPath(recording).rows.first)
    #expect(row.name == "element" && row.count == 1)
    #expect(row.duration == .seconds(6) && row.slowest.duration == .seconds(6))
  }

  enum Way: CaseIterable {
    case value, result, outcome, events, progress, run, otherQueue, graphCall, child, childAtTheEnd, idle, ownIdle,
      shutDown, leader
  }

  @Test(
    "The path leads from a body that awaits another run to that run, in every kind of wait", arguments: Way.allCases)
  func nested(_ way: Way) async throws {
    let (queue, other) = (queue(width: 1), queue("other", width: 1))
    let inner = sleeping("inner", 2)
    let recording = try await record([queue, other]) {
      queue.add(
        ProcedureTask("outer") { [clock] in
          try await clock.sleep(for: .seconds(1))
          switch way {
          case .value: try await queue.add(inner).value
          case .result: _ = await queue.add(inner).result
          case .outcome: _ = await queue.add(inner).outcome
          case .events: for await _ in queue.add(inner).events {}
          case .progress: for await _ in queue.add(inner).progress {}
          case .idle:
            other.add(inner)
            await other.waitUntilIdle()
          case .ownIdle:
            queue.add(inner)
            await queue.waitUntilIdle()
          case .shutDown:
            other.add(inner)
            await other.shutDown()
          case .leader:
            let scope = CoalescingScope()
            let shared = inner.coalesced(by: "k", in: scope)
            other.add(shared)
            try await eventually { scope.count > 0 }
            try await shared()
          case .run: try await queue.run(inner)
          case .otherQueue: try await other.run(inner)
          case .graphCall: try await ProcedureGraph("graph") { g in g.add(inner) }()
          case .child: try await ProcedureContext.current!.produce(inner).value
          case .childAtTheEnd:
            ProcedureContext.current?.produce(inner)
            return
          }
          try await clock.sleep(for: .seconds(3))
        })
    }
    #expect(steps(recording) == (way == .childAtTheEnd ? ["outer 1", "inner 2"] : ["outer 1", "inner 2", "outer 3"]))
  }

  @Test("The path leads from a body whose slot was taken during a wait to the run that took it")
  func slotOfBody() async throws {
    let (queue, other) = (queue(width: 1), queue("other", width: 1))
    let recording = try await record([queue, other]) {
      queue.add(
        ProcedureTask("outer") { [clock] in
          try await clock.sleep(for: .seconds(1))
          try await other.run(sleeping("inner", 2))
          try await clock.sleep(for: .seconds(3))
        })
      queue.add(sleeping("filler", 5))
    }
    #expect(steps(recording) == ["outer 1", "filler 5", "outer 3"])
  }

  @Test("Of two awaited runs, the one that ended last is on the path, with its dependencies")
  func concurrent() async throws {
    let queue = queue(width: 4)
    let recording = try await record([queue]) {
      let first = queue.add(sleeping("first", 5))
      let last = queue.add(sleeping("last", 4), after: [first])
      queue.add(
        ProcedureTask("outer") { [clock] in
          try await clock.sleep(for: .seconds(1))
          async let short: Void = queue.run(sleeping("short", 2))
          async let long: Void = last.value
          _ = try await (short, long)
          try await clock.sleep(for: .seconds(1))
        })
    }
    #expect(steps(recording) == ["first 5", "last 4", "outer 1"])
  }

  @Test("Waits that lead to no run are parts of the waiting run: dependencies, conditions, resources and pauses")
  func waits() async throws {
    let (queue, unseen) = (queue(width: 1), queue("unseen", width: 1))
    struct Failure: Error {}
    let recording = try await record([queue]) {
      let dependency = unseen.add(sleeping("dependency", 3))
      unseen.add(sleeping("holder", 7).exclusive("CriticalPathTests"))
      queue.add(
        ProcedureTask("x") { [clock] in
          try await clock.sleep(for: .seconds(1))
          if ProcedureContext.current?.attempt == 1 { throw Failure() }
        }
        .map { $0 }
        .retry(.constant(.seconds(6)), maxAttempts: 2)
        .exclusive("CriticalPathTests")
        .delay(.seconds(5))
        .condition("slow") { [clock] in
          try await clock.sleep(for: .seconds(2))
          return true
        }, after: [dependency])
    }
    let path = CriticalPath(recording)
    #expect(path.steps.map(\.name) == ["x"])
    // 0–3 s dependency (holder waits for its slot), 3–5 condition, 5–10 delay, the holder until 10, attempts 10–11 and 17–18.
    let times = try #require(path.steps.first?.times)
    #expect(times.pending == .seconds(3) && times.evaluating == .seconds(2))
    #expect(times.paused == .seconds(11) && times.executing == .seconds(2))
    #expect(times.total == .seconds(18) && path.duration == .seconds(18))
  }

  @Test("A wait for a resource is named")
  func resources() async throws {
    let (queue, unseen) = (queue(width: 1), queue("unseen", width: 1))
    let recording = try await record([queue]) {
      unseen.add(sleeping("holder", 7).exclusive("CriticalPathTests.resources"))
      queue.add(sleeping("x", 1).exclusive("CriticalPathTests.resources"))
    }
    let path = CriticalPath(recording)
    #expect(
      path.steps.map(\.times) == [ProcedureMetrics(waiting: .seconds(7), claiming: .seconds(7), executing: .seconds(1))]
    )
    #expect(RunReport(recording).text.contains("    waited 7 s for resources\n"))
  }

  @Test("In random programs, the parts add up to the total time", arguments: 0..<UInt64(TestDepth.count(30)))
  func sums(seed: UInt64) async throws {
    let queues = [queue(width: 1), queue("wide", width: 3)]
    let plan = Plan(seed)
    let recording = try await record(queues) { queues[0].add(plan.task("root", 3, queues, clock)) }
    let root = try #require(recording.runs.first { $0.name == "root" })
    let path = CriticalPath(recording)
    #expect(recording.runs.allSatisfy { $0.outcome == .finished })
    let end = try #require(root.end)
    #expect(path.duration == end - root.begin)
    #expect(path.rows.reduce(.zero) { $0 + $1.duration } == path.duration)
  }
}

/// A random program, whose bodies sleep and await others in every way.
private final class Plan: Sendable {
  private let generator: Mutex<SeededGenerator>

  init(_ seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

  private func below(_ count: Int) -> Int { generator.withLock { Int.random(in: 0..<count, using: &$0) } }

  func task(
    _ name: String, _ depth: Int, _ queues: [ProcedureQueue], _ clock: VirtualClock
  ) -> ProcedureTask<Void, Void> {
    // The parts are chosen when the program is made, so that they do not depend on the order of execution.
    let parts = (0..<1 + below(3)).map { index in
      let seconds = below(5)
      let inner = depth > 0 ? task("\(name).\(index)", depth - 1, queues, clock) : nil
      let (way, queue, isDelayed) = (below(5), queues[below(queues.count)], below(4) == 0)
      return { @Sendable () async throws -> Void in
        try await clock.sleep(for: .seconds(seconds))
        guard let inner else { return }
        let work = isDelayed ? inner.delay(.seconds(2)) : inner
        switch way {
        case 0: try await queue.run(work)
        case 1: try await queue.add(work).value
        case 2: ProcedureContext.current?.produce(work)
        case 3:
          let first = queue.add(work)
          try await queue.add(ProcedureTask("\(name) after") {}, after: [first]).value
        default:
          try await ProcedureGraph("\(name) graph", returning: Void.self) { g in
            let first = g.add(work)
            _ = g.add("second", after: [first]) { try await clock.sleep(for: .seconds(1)) }
            _ = g.add("beside") { try await clock.sleep(for: .seconds(3)) }
          }()
        }
      }
    }
    return ProcedureTask(name) { for part in parts { try await part() } }
  }
}
