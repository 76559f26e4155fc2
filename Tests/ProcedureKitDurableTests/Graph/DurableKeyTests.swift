import ProcedureKit
import ProcedureKitFoundation
import Synchronization
import Testing
import TestingProcedureKit

@testable import ProcedureKitDurable

/// The text of a file, which can change between runs.
private struct Text: GraphKey, Codable {
  typealias Value = String
  var path: String
  var name: String { "text of \(path)" }
}

/// The declarations of a file and of the files that it includes.
private struct Declarations: GraphKey, Codable {
  typealias Value = [String]
  var name: String
}

/// A key without a value.
private struct Checked: GraphKey, Codable {
  typealias Value = Void
  var name: String
}

/// A key whose value cannot be stored.
private struct Parsed: GraphKey, Codable {
  typealias Value = Names
  var name: String
}

/// A key that cannot be stored.
private struct Handle: GraphKey {
  typealias Value = String
  var name: String
}

@Suite("Durable graphs whose bodies request values by key", .timeLimit(.minutes(10))) struct DurableKeyTests {
  /// Files in memory. A line is the name of a file to include after `+`, a comment after `#`, or a declaration.
  private final class Files: Sendable {
    private let texts: Mutex<[String: String]>

    init(_ texts: [String: String]) { self.texts = Mutex(texts) }

    subscript(path: String) -> String? {
      get { texts.withLock { $0[path] } }
      set { texts.withLock { $0[path] = newValue } }
    }
  }

  private let journal = InMemoryJournal()
  private let executed = Names()
  private let files = Files([
    "main": "+util\n+log\nmain", "tool": "+log\ntool", "util": "+log\nutil", "log": "# old\nlog",
  ])

  private func declare(in g: GraphBuilder, version: Int = 1) {
    let (files, executed) = (files, executed)
    g.values(for: Text.self, isVolatile: true) { text, _ in
      guard let content = files[text.path] else { throw Problem(text: "no file \(text.path)") }
      return content
    }
    let parse = ProcedureTask("parse") { (key: Declarations) in
      executed.add("parse \(key.name)")
      var declarations: [String] = []
      for line in try await ProcedureContext.value(of: Text(path: key.name)).split(separator: "\n") {
        if line.hasPrefix("+") {
          declarations += try await ProcedureContext.value(of: Declarations(name: String(line.dropFirst())))
        } else if !line.hasPrefix("#") {
          declarations.append(String(line))
        }
      }
      return declarations
    }
    g.values(for: Declarations.self, with: parse.version(version))
  }

  /// Compiles main and tool in one node each, and links them in another one.
  private func build(version: Int = 1) -> DurableGraph<Void, String> {
    let executed = executed
    return ProcedureGraph("build") { g in
      declare(in: g, version: version)
      let objects = ["main", "tool"].map { source in
        g.add("compile \(source)") {
          executed.add("compile \(source)")
          return try await ProcedureContext.value(of: Declarations(name: source)).joined(separator: " ")
        }
      }
      return g.add("link", from: objects[0], objects[1]) { main, tool in
        executed.add("link")
        return "\(main); \(tool)"
      }
    }
    .durable(in: journal)
  }

  @Test("A second run computes only volatile values, and the events report that the others are reused")
  func again() async throws {
    let queue = ProcedureQueue("q")
    #expect(try await queue.run(build()) == "log util log main; log tool")
    let parsed = ["log", "main", "tool", "util"].map { "parse \($0)" }
    #expect(executed.take() == ["compile main", "compile tool", "link"] + parsed)
    let appendCount = await journal.appendCount
    let recorder = EventRecorder(queue)
    #expect(try await queue.run(build()) == "log util log main; log tool")
    #expect(executed.take() == [])
    #expect(await journal.appendCount == appendCount)
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    let reused = recorder.events.filter { $0.kind == .reused }.map(\.name)
    #expect(
      Set(reused) == ["compile main", "compile tool", "link", "log", "main", "tool", "util"] && reused.count == 7)
    // The values that a reused body had requested are requested again, so diagrams contain the same arrows.
    let requests = recorder.events.compactMap { event in
      if case .didRequest(let run) = event.step { "\(event.name) > \(run.name)" } else { nil }
    }
    #expect(Set(requests).isSuperset(of: ["compile main > main", "main > util", "util > log", "log > text of log"]))
  }

  @Test("If a change does not affect a value, the bodies that have requested the value are not executed")
  func cutOff() async throws {
    _ = try await build()()
    _ = executed.take()
    files["log"] = "# new\nlog"
    #expect(try await build()() == "log util log main; log tool")
    #expect(executed.take() == ["parse log"])
    // The new text has been recorded, so the next run executes nothing.
    _ = try await build()()
    #expect(executed.take() == [])
  }

  @Test("A change of a value executes the bodies that it affects, and the reason is logged")
  func change() async throws {
    _ = try await build()()
    _ = executed.take()
    files["util"] = "+log\nutil2"
    let collector = LogCollector()
    var configuration = ProcedureQueue.Configuration("q")
    configuration.log = ProcedureLog(level: .info, to: collector)
    #expect(try await ProcedureQueue(configuration).run(build()) == "log util2 log main; log tool")
    #expect(executed.take() == ["compile main", "link", "parse main", "parse util"])
    #expect(
      collector.texts(.info).sorted() == [
        "executing again: its dependencies have changed: \"compile main\"",
        "executing again: its dependencies have changed: \"main\"",
        "executing again: its dependencies have changed: \"text of util\"",
        "executing again: its dependencies have changed: \"util\"",
      ])
  }

  @Test("Requests that are new, or no longer made, are discovered again; what is no longer needed is not computed")
  func discovery() async throws {
    _ = try await build()()
    _ = executed.take()
    files["extra"] = "extra"
    files["tool"] = "+extra\ntool"
    #expect(try await build()() == "log util log main; extra tool")
    #expect(executed.take() == ["compile tool", "link", "parse extra", "parse tool"])
    files["tool"] = "tool"
    files["extra"] = nil
    #expect(try await build()() == "log util log main; tool")
    #expect(executed.take() == ["compile tool", "link", "parse tool"])
  }

  @Test("A cycle that arises after the values were stored is found")
  func newCycle() async throws {
    _ = try await build()()
    files["log"] = "+util\nlog"
    let error = await #expect(throws: GraphKeyError.self) { try await build()() }
    #expect(error.map { Set($0.keys.map(\.name)) } == ["log", "util"])
    files["log"] = "# new\nlog"
    #expect(try await build()() == "log util log main; log tool")
  }

  @Test("A new version of the procedure, or of the graph, computes the values again")
  func versions() async throws {
    _ = try await build()()
    _ = executed.take()
    let queue = ProcedureQueue("q")
    let recorder = EventRecorder(queue)
    _ = try await queue.run(build(version: 2))
    // The values are the same, so the nodes are not executed.
    #expect(executed.take() == ["parse log", "parse main", "parse tool", "parse util"])
    await queue.shutDown()
    try await recorder.waitUntilEnded()
    #expect(recorder.events.compactMap(\.executionCause) == Array(repeating: .versionChanged, count: 4))
  }

  @Test("A value is in the journal before a body that has requested it continues, even if the process is killed")
  func killed() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("build.journal")
    let (files, executed) = (files, executed)
    func build(isInterrupted: Bool) -> ProcedureGraph<Void, [String]> {
      ProcedureGraph("build") { g in
        declare(in: g)
        return g.add("compile") {
          let declarations = try await ProcedureContext.value(of: Declarations(name: "main"))
          if isInterrupted { throw Problem(text: "interrupted") }
          return declarations
        }
      }
    }
    var journal = try FileJournal(path)
    await #expect(throws: Problem.self) { try await build(isInterrupted: true).durable(in: journal)() }
    try await journal.close()
    #expect(executed.take().count == 3)
    journal = try FileJournal(path)
    files["log"] = "# new\nlog"
    #expect(try await build(isInterrupted: false).durable(in: journal)().count == 4)
    #expect(executed.take() == ["parse log"])
    try await journal.close()
  }

  @Test("A failure that a body has caught is compared, too, and is remembered on request", arguments: [false, true])
  func failures(areRemembered: Bool) async throws {
    let (files, executed) = (files, executed)
    files["main"] = "+gone\nmain"
    let build = ProcedureGraph("build") { g in
      declare(in: g)
      return g.add("compile") {
        executed.add("compile")
        do {
          return try await ProcedureContext.value(of: Declarations(name: "main")).joined(separator: " ")
        } catch {
          return "\(error)"
        }
      }
    }
    .durable(in: journal, rememberingFailures: areRemembered)
    #expect(try await build() == "no file gone")
    #expect(executed.take() == ["compile", "parse gone", "parse main"])
    let again = try await build()
    // Without remembered failures, the value is computed again, and fails in the same way.
    #expect(again == "no file gone")
    #expect(executed.take() == (areRemembered ? [] : ["parse gone", "parse main"]))
    files["gone"] = "found"
    #expect(try await build() == "found main")
    #expect(executed.take() == ["compile", "parse gone", "parse main"])
  }

  @Test("A node without a comparable value is considered changed if a requested value has changed")
  func incomparable() async throws {
    let (files, executed) = (files, executed)
    files["main"] = "main"
    let build = ProcedureGraph("build", returning: Void.self) { g in
      declare(in: g)
      g.values(for: Checked.self) { key, context in
        executed.add("check \(key.name)")
        _ = try await context.value(of: Declarations(name: key.name))
      }
      g.values(for: Parsed.self) { key, context in
        _ = try await context.value(of: Declarations(name: key.name))
        return Names()
      }
      let write = g.add("write") {
        executed.add("write")
        _ = try await ProcedureContext.value(of: Declarations(name: "main"))
      }
      g.add("after write", after: write) {
        executed.add("after write")
        return 1
      }
      let names = g.add("names") { () -> Names in
        _ = try await ProcedureContext.value(of: Declarations(name: "main"))
        return Names()
      }
      g.add("after names", from: names) { _ in
        executed.add("after names")
        return 1
      }
      g.add("check") {
        executed.add("after check")
        try await ProcedureContext.value(of: Checked(name: "main"))
        return 1
      }
      g.add("parse") {
        executed.add("after parse")
        _ = try await ProcedureContext.value(of: Parsed(name: "main"))
        return 1
      }
    }
    .durable(in: journal)
    try await build()
    let all = ["after check", "after names", "after parse", "after write", "check main", "parse main", "write"]
    #expect(executed.take() == all)
    try await build()
    #expect(executed.take() == [])
    files["main"] = "# comment\nmain"
    try await build()
    #expect(executed.take() == ["parse main"])
    files["main"] = "changed"
    try await build()
    #expect(executed.take() == all)
  }

  @Test(
    "If a request cannot be repeated, nothing is stored for the body, so it is executed in each run", arguments: 0..<4)
  func unrepeatable(way: Int) async throws {
    let executed = executed
    func graph<Value: Codable & Sendable>(
      _ request: @escaping @Sendable () async throws -> Value
    ) -> ProcedureGraph<Void, Int> {
      ProcedureGraph("graph") { g in
        g.values(for: Handle.self) { key, _ in key.name }
        g.values(for: Parsed.self, isVolatile: true) { _, _ in Names() }
        g.values(for: Declarations.self) { key, context in
          executed.add("value")
          return [try await context.value(of: Handle(name: key.name))]
        }
        let node = g.add("node") {
          executed.add("node")
          return try await request()
        }
        return g.add("last", from: node) { (_: Value) in
          executed.add("last")
          return 1
        }
      }
    }
    let request: ProcedureGraph<Void, Int> =
      switch way {
      case 0: graph { try await ProcedureContext.value(of: Handle(name: "a")) }
      case 1: graph { try await ProcedureContext.value(of: Parsed(name: "a")).count }
      case 2: graph { try await ProcedureContext.value(of: Declarations(name: "a")) }
      default:
        // The key belongs to a graph around the durable graph, whose journal does not contain it.
        ProcedureGraph("graph") { g in
          let node = g.add("node") {
            executed.add("node")
            return try await ProcedureContext.value(of: Text(path: "a"))
          }
          return g.add("last", from: node) { text in
            executed.add("last")
            return text.count
          }
        }
      }
    let durable = request.durable(in: journal)
    let outer = ProcedureGraph("outer") { g in
      g.values(for: Text.self) { text, _ in text.path }
      return g.add(durable)
    }
    #expect(try await outer() == 1)
    #expect(executed.take() == ["last", "node"] + (way == 2 ? ["value"] : []))
    #expect(try await outer() == 1)
    // The value of the node is the same, so the last node is not executed. In the third way, the key that cannot be stored is that of
    // another value, which can be compared.
    #expect(executed.take() == (way == 2 ? ["value"] : ["node"]))
  }

  @Test("Elements of a map and graphs within a node count as the node")
  func parts() async throws {
    let executed = executed
    let build = ProcedureGraph("build") { g in
      declare(in: g)
      return g.map("compile", g.add("sources") { ["main", "tool"] }) { source in
        executed.add("compile \(source)")
        return try await ProcedureContext.value(of: Declarations(name: source)).count
      }
    }
    .durable(in: journal)
    #expect(try await build() == [4, 2])
    _ = executed.take()
    #expect(try await build() == [4, 2])
    #expect(executed.take() == [])
    files["tool"] = "+log\ntool\nmore"
    #expect(try await build() == [4, 3])
    #expect(executed.take() == ["compile main", "compile tool", "parse tool"])
  }

  @Test("A request of a procedure that a body has produced counts, even if the body has returned")
  func produced() async throws {
    let executed = executed
    let build = ProcedureGraph("build", returning: Void.self) { g in
      declare(in: g)
      g.add("compile") {
        executed.add("compile")
        ProcedureContext.current?.produce(
          ProcedureTask("write") {
            executed.add("write")
            _ = try await ProcedureContext.value(of: Declarations(name: "log"))
          })
      }
    }
    .durable(in: journal)
    // The produced procedure gets the only slot when the body has returned.
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    try await queue.run(build)
    #expect(executed.take() == ["compile", "parse log", "write"])
    try await queue.run(build)
    #expect(executed.take() == [])
    files["log"] = "changed"
    try await queue.run(build)
    #expect(executed.take() == ["compile", "parse log", "write"])
  }

  @Test("A node that contains a graph with volatile values is executed in each run", arguments: [false, true])
  func nestedVolatile(isInnerDurable: Bool) async throws {
    let executed = executed
    let inner = ProcedureGraph("inner") { g in
      declare(in: g)
      return g.add("compile") {
        executed.add("compile")
        return try await ProcedureContext.value(of: Declarations(name: "log")).count
      }
    }
    let outer = ProcedureGraph("outer") { g in
      let count = isInnerDurable ? g.add(inner.durable(in: journal)) : g.add(inner)
      return g.add("after", from: count) { count in
        executed.add("after")
        return count
      }
    }
    .durable(in: journal)
    #expect(try await outer() == 1)
    #expect(executed.take() == ["after", "compile", "parse log"])
    #expect(try await outer() == 1)
    #expect(executed.take() == (isInnerDurable ? [] : ["compile", "parse log"]))
    files["log"] = "log\nmore"
    #expect(try await outer() == 2)
    #expect(executed.take() == ["after", "compile", "parse log"])
  }

  @Test("The plan lists the values that have to be checked before a node")
  func plan() async throws {
    _ = try await build()()
    let actions = try await build().resumptionPlan().entries.map(\.action)
    #expect(actions == [.check(["main"]), .check(["tool"]), .check(["compile main", "compile tool"])])
    let plan = try await build().resumptionPlan()
    #expect(plan.executedCount == 0)
    #expect("\(plan)".hasPrefix("\"compile main\" is executed if \"main\" has changed\n"))
  }

  @Test("A value that cannot be written to the journal fails, and so does the graph")
  func fullJournal() async throws {
    let graph = ProcedureGraph("graph") { g in
      g.values(for: Declarations.self) { key, _ in [key.name] }
      return g.add("node") { try await ProcedureContext.value(of: Declarations(name: "a")) }
    }
    let error = await #expect(throws: Problem.self) {
      try await graph.durable(in: FullJournal(journal, room: 0))()
    }
    #expect(error?.text == "full")
  }

  @Test(
    "An entry with requests is read as it was written, and no damaged entry traps", arguments: [false, true],
    [nil, Duration.zero, .nanoseconds(9_999_999_999_999_999), .seconds(Int64.max / 1_000_000_000)] as [Duration?])
  func record(isFailure: Bool, duration: Duration?) throws {
    let fingerprint = Fingerprint(of: [1, 2, 3])
    let record = JournalRecord(
      isFailure: isFailure, versions: [1, 2], dependencies: [.init(name: "a", prefix: 7)],
      requests: [
        .init(type: "Text", key: [1, 2], fingerprint: fingerprint), .init(type: "", key: [], fingerprint: fingerprint),
      ], duration: duration, content: [4, 5])
    #expect(JournalRecord(record.bytes) == record)
    for count in record.bytes.indices {
      let prefix = JournalRecord(Array(record.bytes.prefix(count)))
      #expect(prefix == nil || prefix?.requests == record.requests)
    }
    for index in record.bytes.indices {
      var bytes = record.bytes
      bytes[index] = 255
      if let read = JournalRecord(bytes) { #expect(read != record || bytes == record.bytes) }
    }
  }
}
