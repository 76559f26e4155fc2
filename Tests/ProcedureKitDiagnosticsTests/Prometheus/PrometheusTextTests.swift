import ProcedureKit
import ProcedureKitDiagnostics
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct PrometheusTextTests {
  private struct Failure: Error {}

  private func queue(_ name: String, width: Int = 2) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: width)
    configuration.collectsTotals = true
    return ProcedureQueue(configuration)
  }

  private func value(
    _ name: String, _ labels: [String: String], in samples: [PrometheusSample]
  ) throws -> Double {
    let found = samples.filter { $0.name == name && $0.labels == labels }
    #expect(found.count == 1)
    return try #require(found.first).value
  }

  @Test(
    "In the text and in a recording, the retries and pauses of layers, nodes and children match the events"
  )
  func layers() async throws {
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("layers")
    configuration.clock = clock
    configuration.executor = clock.executor
    configuration.collectsTotals = true
    let queue = ProcedureQueue(configuration)
    let recorder = RunRecorder()
    recorder.record(queue)
    let flaky = ProcedureTask("flaky") {
      if ProcedureContext.current?.attempt != 3 { throw Failure() }
    }.retry(.constant(.seconds(5)), maxAttempts: 3)
    let reader = queue.events
    queue.add(flaky.map { $0 }.named("layer"))
    queue.add(ProcedureGraph("graph") { g in g.add(ProcedureTask("node") { try await flaky() }) })
    queue.add(ProcedureTask("parent") { ProcedureContext.current?.produce(flaky.map { $0 }.named("child")) })
    try await clock.run(for: .seconds(10))
    await queue.shutDown()
    var (retries, metrics): (Int, [String: ProcedureMetrics]) = (0, [:])
    for await event in reader {
      if event.kind == .retrying { retries += 1 }
      if event.kind == .didFinish { metrics[event.name] = event.metrics }
    }
    let samples = try PrometheusSample.read(PrometheusText([queue.snapshot()]).text)
    #expect(try value("procedurekit_retries_total", ["queue": "layers"], in: samples) == 6 && retries == 6)
    let runs = Dictionary(uniqueKeysWithValues: await recorder.finish().runs.map { ($0.name, $0) })
    for name in ["layer", "node", "child"] {
      #expect(metrics[name]?.attempts == 3 && metrics[name]?.paused == .seconds(10), "\(name)")
      #expect(runs[name]?.executionTime == .zero, "\(name)")
    }
    // The time of a node is part of the time of its graph.
    var sum = ProcedureMetrics()
    for (name, part) in metrics where name != "node" { sum += part }
    #expect(
      try value("procedurekit_time_seconds_total", ["queue": "layers", "part": "paused"], in: samples) == sum.paused
        / .seconds(1))
  }

  @Test("Counts, states, times and histograms of a queue match its snapshot")
  func queue() async throws {
    let queue = queue("mail")
    for _ in 0..<3 { try await queue.run(ProcedureTask("good") {}) }
    _ = try? await queue.run(ProcedureTask("bad") { throw Failure() })
    queue.suspend()
    let waiting = queue.add(ProcedureTask("waiting") {})
    let snapshot = queue.snapshot()
    let samples = try PrometheusSample.read(PrometheusText([snapshot]).text)
    func sample(_ name: String, _ labels: [String: String] = [:]) throws -> Double {
      try value("procedurekit_\(name)", ["queue": "mail"].merging(labels) { $1 }, in: samples)
    }
    #expect(try sample("procedures_ended_total", ["outcome": "finished"]) == 3)
    #expect(try sample("procedures_ended_total", ["outcome": "failed"]) == 1)
    #expect(try sample("procedures", ["state": "waiting"]) == 1)
    #expect(try sample("suspended_queues") == 1)
    #expect(try sample("slots") == 2)
    #expect(try sample("execution_seconds_count") == 4)
    #expect(try sample("execution_seconds_bucket", ["le": "+Inf"]) == 4)
    let totals = try #require(snapshot.totals)
    #expect(try sample("execution_seconds_sum") == totals.executing.sum / .seconds(1))
    let buckets = samples.filter { $0.name == "procedurekit_wait_seconds_bucket" }
    #expect(buckets.count == DurationHistogram.bounds.count + 1)
    let bounds = buckets.map { $0.labels["le"] == "+Inf" ? .infinity : Double($0.labels["le"] ?? "") ?? .nan }
    #expect(bounds == bounds.sorted() && bounds.first == 1e-6)
    #expect(buckets.map(\.value) == buckets.map(\.value).sorted())
    queue.resume()
    _ = await waiting.outcome
  }

  @Test("Queues with the same name form one series, and a queue without a limit has infinitely many slots")
  func names() async throws {
    let queues = [queue("a", width: 3), queue("b", width: .max), queue("a", width: 4)]
    for queue in queues { try await queue.run(ProcedureTask("work") {}) }
    let samples = try PrometheusSample.read(PrometheusText(queues.map { $0.snapshot() }).text)
    #expect(try value("procedurekit_slots", ["queue": "a"], in: samples) == 7)
    #expect(try value("procedurekit_slots", ["queue": "b"], in: samples) == .infinity)
    let finished = ["queue": "a", "outcome": "finished"]
    #expect(try value("procedurekit_procedures_ended_total", finished, in: samples) == 2)
  }

  @Test("Names with quotes, line breaks, brackets or a megabyte of text are one label", arguments: hostileNames)
  func hostile(name: String) throws {
    let samples = try PrometheusSample.read(PrometheusText([queue(name).snapshot()]).text)
    #expect(Set(samples.compactMap { $0.labels["queue"] }).count == 1)
    #expect(samples.allSatisfy { ($0.labels["queue"]?.count ?? 0) <= 200 })
  }

  @Test("Without a limit for keys no sample has the label, and with one the busiest keys are counted separately")
  func keys() throws {
    let queues = [queue("q"), queue("q")]
    for queue in queues { queue.suspend() }
    func add(_ key: String?, _ count: Int, to queue: ProcedureQueue) {
      let task = ProcedureTask("work") {}
      for _ in 0..<count { queue.add(key.map { task.keyed(by: $0) } ?? task) }
    }
    add("rare", 1, to: queues[0])
    add("busy", 2, to: queues[0])
    add("busy", 3, to: queues[1])
    add("also \"busy\"\n", 4, to: queues[1])
    add("", 1, to: queues[0])
    add(nil, 1, to: queues[0])
    queues[0].add(ProcedureTask("pausing") {}.delay(.seconds(1_000)).keyed(by: "busy"))
    let snapshots = queues.map { $0.snapshot() }
    let plain = try PrometheusSample.read(PrometheusText(snapshots).text)
    #expect(plain.allSatisfy { $0.labels["key"] == nil })
    #expect(PrometheusText(snapshots, maxKeys: -1).text == PrometheusText(snapshots).text)
    for (maxKeys, shown) in [(1, ["busy"]), (2, ["also \"busy\" ", "busy"]), (9, ["also \"busy\" ", "busy", "rare"])] {
      let samples = try PrometheusSample.read(PrometheusText(snapshots, maxKeys: maxKeys).text)
      let keyed = samples.filter { $0.labels["key"] != nil }
      #expect(Set(keyed.compactMap { $0.labels["key"] }) == Set(shown))
      #expect(keyed.allSatisfy { $0.name == "procedurekit_procedures" })
      let busy = ["queue": "q", "state": "waiting", "key": "busy"]
      #expect(try value("procedurekit_procedures", busy, in: samples) == 5)
      // The sum over all keys does not depend on the limit, and no other sample changes.
      for state in ["pending", "evaluating", "waiting", "executing", "pausing", "finishing"] {
        let sum = samples.filter { $0.name == "procedurekit_procedures" && $0.labels["state"] == state }.map(\.value)
          .reduce(0, +)
        #expect(try value("procedurekit_procedures", ["queue": "q", "state": state], in: plain) == sum)
      }
      #expect(
        samples.filter { $0.name != "procedurekit_procedures" } == plain.filter { $0.name != "procedurekit_procedures" }
      )
    }
    for queue in queues { queue.cancelAll() }
  }

  @Test("Any text is a valid key", arguments: hostileNames)
  func hostile(key: String) throws {
    let queue = queue("q")
    queue.suspend()
    for end in ["", ".", "\u{0}"] { queue.add(ProcedureTask("work") {}.keyed(by: key + end)) }
    let samples = try PrometheusSample.read(PrometheusText([queue.snapshot()], maxKeys: 3).text)
    let counts = samples.filter { $0.name == "procedurekit_procedures" }
    #expect(counts.map(\.value).reduce(0, +) == 3)
    #expect(counts.allSatisfy { ($0.labels["key"]?.count ?? 0) <= 200 && $0.labels["key"] != "" })
    queue.cancelAll()
  }

  @Test("A page for no queues, or for queues without totals, is valid")
  func little() throws {
    #expect(try PrometheusSample.read(PrometheusText([]).text) == [])
    let snapshot = ProcedureQueue("plain").snapshot()
    let samples = try PrometheusSample.read(PrometheusText([snapshot]).text)
    #expect(!samples.isEmpty && samples.allSatisfy { !$0.name.hasSuffix("_total") })
  }
}
