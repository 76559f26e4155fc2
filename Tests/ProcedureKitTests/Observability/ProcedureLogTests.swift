import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ProcedureLogTests {
  @Test("Messages below the level are neither built nor passed on", arguments: ProcedureLog.Level.allCases)
  func levels(_ least: ProcedureLog.Level) {
    let collector = LogCollector()
    let log = ProcedureLog(level: least, to: collector)
    let built = Box(0)
    func text() -> String {
      built.update { $0 += 1 }
      return "text"
    }
    for level in ProcedureLog.Level.allCases { log.log(level: level, text(), metadata: ["text": text()]) }
    let expected = ProcedureLog.Level.allCases.filter { $0 >= least }
    #expect(collector.messages.map(\.level) == expected)
    #expect(built.value == 2 * expected.count)
  }

  @Test("A message contains its text, its metadata and its location in the code")
  func contents() throws {
    let collector = LogCollector()
    ProcedureLog(level: .trace, to: collector).log(level: .critical, "6", metadata: ["b": "2"])
    let message = try #require(collector.messages.first)
    #expect(message.level == .critical && message.text == "6" && message.metadata == ["b": "2"])
    #expect(message.file == #fileID && message.function == "contents()" && message.line > 0)
  }

  @Test("A log message stays on one line, regardless of its text, and has a bounded length")
  func oneLine() {
    let message = ProcedureLogMessage(
      level: .warning, text: "a\nb\u{1B}[31m\u{2028}\"🐈\"</script>", metadata: ["z": "1\r\n2", "procedure.name": "x"])
    #expect(
      message.description == "warning: a b\u{FFFD}[31m \"🐈\"</script> [procedure.name=x z=1  2]")
    let long = ProcedureLogMessage(
      level: .info, text: String(repeating: "x", count: 1 << 20),
      metadata: ["name": String(repeating: "y", count: 1 << 20)])
    #expect(long.description.count == "info: ".count + 4_097 + " [name=]".count + 257)
  }

  // MARK: Procedures

  /// Creates a queue, and the collector of its messages.
  private static func queue(_ level: ProcedureLog.Level = .trace) -> (ProcedureQueue, LogCollector) {
    let collector = LogCollector()
    var configuration = ProcedureQueue.Configuration("logged")
    configuration.log = ProcedureLog(level: level, to: collector)
    return (ProcedureQueue(configuration), collector)
  }

  @Test("A message from a body names the procedure, the attempt and the parent, unless the message has its own values")
  func context() async throws {
    let (queue, collector) = Self.queue()
    let body = ProcedureTask("inner") {
      ProcedureContext.current?.log.log(level: .notice, "here", metadata: ["queue.name": "other"])
    }
    let outer = ProcedureTask("outer") { _ = try await ProcedureContext.current?.produce(body).value }
    let handle = queue.add(outer)
    try await handle.value
    let message = try #require(collector.messages.first)
    #expect(message.metadata["procedure.name"] == "inner")
    #expect(message.metadata["queue.name"] == "other")
    #expect(message.metadata["attempt"] == "1")
    #expect(message.metadata["parent"] == "\(handle.id)")
    #expect(message.metadata["procedure.id"].map { $0 != "\(handle.id)" } == true)
  }

  @Test("A node's log names the node, and the graph as its parent")
  func node() async throws {
    let (queue, collector) = Self.queue()
    let graph = ProcedureGraph("graph") { g in
      let first = g.add("first") { ProcedureContext.current?.log.log(level: .notice, "1") }
      return g.add(
        ProcedureTask("second") { ProcedureContext.current?.log.log(level: .notice, "2") }.condition("always") { true },
        after: [first])
    }
    let handle = queue.add(graph)
    try await handle.value
    #expect(collector.messages.map(\.text) == ["1", "2"])
    #expect(collector.messages.map { $0.metadata["procedure.name"] } == ["first", "second"])
    #expect(collector.messages.map { $0.metadata["parent"] } == ["\(handle.id)", "\(handle.id)"])
  }

  @Test("A retry is logged at the info level, with the number of the attempt and the error")
  func retry() async throws {
    let (queue, collector) = Self.queue()
    let failures = Box(2)
    let body = ProcedureTask("flaky") {
      if failures.update({
        $0 -= 1
        return $0 >= 0
      }) {
        throw TestError(code: 7)
      }
    }
    try await queue.run(body.retry(.immediate, maxAttempts: 5))
    #expect(collector.messages.map(\.level) == [.info, .info])
    #expect(collector.texts(.info).first?.hasPrefix("attempt 1 failed, retrying after") == true)
    #expect(collector.texts(.info).last?.hasPrefix("attempt 2 failed, retrying after") == true)
    #expect(collector.messages.allSatisfy { $0.text.contains("7") && $0.metadata["procedure.name"] == "flaky" })
  }

  @Test("A retry without a delay and without a limit is a warning, once for each name")
  func endlessRetry() async throws {
    let (queue, collector) = Self.queue()
    func run(_ name: String, _ wrap: (ProcedureTask<Void, Void>) -> ProcedureTask<Void, Void>) async throws {
      let failures = Box(3)
      let body = ProcedureTask(name) {
        if failures.update({
          $0 -= 1
          return $0 >= 0
        }) {
          throw TestError(code: 7)
        }
      }
      try await queue.run(wrap(body))
    }
    try await run("limited") { $0.retry(.immediate, maxAttempts: 5) }
    try await run("budget") { $0.retry(.immediate, budget: RetryBudget()) }
    try await run("short") { $0.retry(.immediate.prefix(5)) }
    try await run("pausing") { $0.retry(.constant(.nanoseconds(1))) }
    try await run("later") { $0.retry(.immediate) { _, _ in .retryAfter(.nanoseconds(1)) } }
    #expect(collector.texts(.warning) == [])
    // The names are different in each repetition of the test in one process.
    let number = ProcedureID.reserve().number
    for _ in 1...2 { try await run("endless \u{1b}\(number)") { $0.retry(.immediate) } }
    try await run("layer \(number)") { $0.retry(.immediate.jittered()).map { $0 } }
    let warnings = collector.texts(.warning)
    #expect(warnings.count == 2)
    #expect(warnings.first?.hasPrefix("\"endless  \(number)\" is retried without a delay and without a limit") == true)
    #expect(warnings.last?.hasPrefix("\"layer \(number)\" is retried") == true)
  }

  @Test("A reused value is logged at the debug level")
  func reused() async throws {
    let (queue, collector) = Self.queue()
    try await queue.run(ProcedureTask("compile") {}.reusing("up to date") { () })
    #expect(collector.texts(.debug) == ["reused an existing value: up to date"])
  }

  @Test("The node or child whose failure stops the others is logged at the info level")
  func failFast() async throws {
    let (queue, collector) = Self.queue()
    let graph = ProcedureGraph("graph") { g in
      _ = g.add("good") {}
      return g.add("bad") { throw TestError(code: 1) }
    }
    _ = try? await queue.run(graph)
    #expect(collector.texts(.info).contains { $0.contains("\"bad\"") && $0.contains("stopping the graph") })
    let parent = ProcedureTask("parent") {
      ProcedureContext.current?.produce(ProcedureTask("child") { throw TestError(code: 1) })
    }
    _ = try? await queue.run(parent)
    #expect(collector.texts(.info).contains { $0.contains("\"child\"") && $0.contains("stopping its parent") })
  }

  @Test("The failure of a node that does not stop its graph is not logged as a failure that does")
  func collected() async throws {
    let (queue, collector) = Self.queue()
    let graph = ProcedureGraph("graph", returning: Void.self) { g in
      g.add("bad") { throw TestError(code: 1) }
      g.add("good") {}
    }
    _ = try? await queue.run(graph.onFailure(.collect))
    #expect(collector.texts(.info).isEmpty)
  }

  @Test("An unobserved failure is a warning that names the procedure, unless a handler is set")
  func unobserved() async throws {
    let (reported, arrival) = (Box<[ProcedureLogMessage]>([]), Signal())
    var configuration = ProcedureQueue.Configuration("logged")
    configuration.log = ProcedureLog(to: SignallingLogHandler(messages: reported, arrival: arrival))
    let queue = ProcedureQueue(configuration)
    queue.add(ProcedureTask("lost") { throw TestError(code: 1) })
    await arrival.wait()
    #expect(reported.value.map(\.level) == [.warning])
    #expect(reported.value.first?.metadata["procedure.name"] == "lost")
    #expect(reported.value.first?.text.contains("released before any code read its outcome") == true)
  }

  @Test("A stalled queue is a warning with the snapshot, unless a handler is set")
  func stalled() async throws {
    let collector = LogCollector()
    let clock = VirtualClock()
    var configuration = ProcedureQueue.Configuration("stuck")
    configuration.clock = clock
    configuration.stallTimeout = .seconds(10)
    configuration.log = ProcedureLog(to: collector)
    let queue = ProcedureQueue(configuration)
    let gate = Signal()
    let handle = queue.add(ProcedureTask("waits") { await gate.wait() })
    try await clock.nextSleep()
    try await eventually {
      clock.advance(by: .seconds(10))
      return !collector.messages.isEmpty
    }
    gate.set()
    try await handle.value
    #expect(collector.texts(.warning).first?.contains("stuck") == true)
    #expect(collector.messages.first?.metadata["queue.name"] == "stuck")
  }

  @Test("If a grace period ends while run executes bodies, a warning lists those that the queue cannot interrupt")
  func graceOfRun() async throws {
    let (collector, clock) = (LogCollector(), VirtualClock())
    var configuration = ProcedureQueue.Configuration("service", maxConcurrentProcedures: 20)
    configuration.clock = clock
    configuration.log = ProcedureLog(to: collector)
    let queue = ProcedureQueue(configuration)
    let (release, started) = (Signal(), Signal())
    let body = ProcedureTask("stuck") {
      started.set()
      await release.wait()
    }
    async let stuck: Void = queue.run(body)
    await started.wait()
    // Neither an added procedure nor one with a timeout executes in its caller's task.
    let added = queue.add(ProcedureTask("added") { await release.wait() })
    async let limited: Void = queue.run(ProcedureTask("limited") { await release.wait() }.timeout(.seconds(60)))
    try await eventually { queue.snapshot().procedures.count { $0.state == .executing } == 3 }
    async let report = queue.shutDown(grace: .seconds(10))
    try await eventually {
      clock.advance(by: .seconds(10))
      return !collector.texts(.warning).isEmpty
    }
    release.set()
    _ = try? await (stuck, limited)
    _ = await (added.outcome, report)
    let text = try #require(collector.texts(.warning).first)
    #expect(text.contains("\"stuck\"") && !text.contains("added\"") && !text.contains("limited"), "\(text)")
    #expect(text.hasPrefix("the queue \"service\" is waiting for bodies that `run` executes"), "\(text)")
  }
}

/// A log handler that keeps the messages in a box, and signals each message.
private struct SignallingLogHandler: ProcedureLogHandler {
  let messages: Box<[ProcedureLogMessage]>
  let arrival: Signal

  func handle(_ message: ProcedureLogMessage) {
    messages.update { $0.append(message) }
    arrival.set()
  }
}

/// The only tests that change the log of the process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SharedLogTests {
  @Test("A queue without a log uses the log that the process has at the time of the message")
  func shared() async throws {
    let before = ProcedureLog.shared
    defer { ProcedureLog.shared = before }
    let collector = LogCollector()
    let queue = ProcedureQueue("plain")
    ProcedureLog.shared = ProcedureLog(level: .trace, to: collector)
    try await queue.run(ProcedureTask("here, on a queue") { ProcedureContext.current?.log.log(level: .debug, "1") })
    try await ProcedureTask("here, alone") { ProcedureContext.current?.log.log(level: .debug, "2") }()
    let own = collector.messages.filter { $0.metadata["procedure.name"]?.hasPrefix("here, ") == true }
    #expect(own.map(\.text) == ["1", "2"])
    #expect(own.map { $0.metadata["queue.name"] } == ["plain", nil])
    #expect(before.level == .notice)
  }
}
