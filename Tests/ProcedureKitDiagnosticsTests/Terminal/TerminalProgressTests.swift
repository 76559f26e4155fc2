import Foundation
import ProcedureKit
import Synchronization
import Testing
import TestingProcedureKit

@testable import ProcedureKitDiagnostics

@Suite(.timeLimit(.minutes(10))) struct TerminalProgressTests {
  private struct Failure: Error, CustomStringConvertible {
    var description = "disk full\nat block 7"
  }

  private let clock = VirtualClock()

  private func progress(on terminal: TerminalModel, usesColor: Bool = false) -> TerminalProgress {
    TerminalProgress(on: terminal.output(usesColor: usesColor), every: .seconds(1), clock: clock)
  }

  /// A graph with four nodes, one of which succeeds, one fails, one is skipped, and one is reused.
  private let graph = ProcedureGraph("job", returning: Void.self) { g in
    let load = g.add(ProcedureTask("load") { 1 })
    let failing = g.add(ProcedureTask("fail") { throw Failure() }, after: [load])
    g.add(ProcedureTask("after") {}, after: [failing])
    g.add(ProcedureTask("cached") { 1 }.reusing("cache") { 2 }, after: [load])
  }.onFailure(.collect)

  @Test("Without a terminal, each procedure gets a line, a failure shows its reason, and a summary comes last")
  func plainLines() async throws {
    let terminal = TerminalModel(isLive: false)
    let progress = progress(on: terminal)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    await #expect(throws: ProcedureError.self) {
      try await progress.show(queue) {
        try await queue.run(graph)
      }
    }
    let lines = terminal.lines
    #expect(lines.first == "[1/4] load")
    let failure = try #require(lines.firstIndex { $0.hasSuffix("fail: failed") })
    #expect(Array(lines[(failure + 1)...].prefix(2)) == ["    disk full", "    at block 7"])
    #expect(lines.count == 6, "\(lines)")
    #expect(lines[4] == "1 finished, 1 reused, 1 failed, 1 skipped in 0 s")
    #expect(terminal.problems == [])
  }

  @Test(
    "An interval of any length ends with the progress",
    arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max), .zero, Duration(attoseconds: .min)])
  func extremes(_ interval: Duration) async throws {
    let terminal = TerminalModel()
    let progress = TerminalProgress(on: terminal.output(usesColor: false), every: interval)
    let queue = ProcedureQueue("q")
    try await progress.show(queue) { try await queue.run(ProcedureTask("work") {}) }
    #expect(terminal.lines.first?.hasPrefix("1 finished in ") == true, "\(terminal.lines)")
  }

  @Test("A terminal shows counts and the oldest executing procedures; failures stay, and the status is finally removed")
  func live() async throws {
    let terminal = TerminalModel(columns: 40)
    let progress = progress(on: terminal, usesColor: true)
    let queue = ProcedureQueue("q")
    progress.show(queue)
    let (first, second) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
    func waiting(_ name: String, for stream: AsyncStream<Void>) -> ProcedureTask<Void, Void> {
      ProcedureTask(name) { for await _ in stream {} }
    }
    let one = queue.add(waiting("one", for: first.stream))
    await advance(until: terminal) { $0 == ["[0/1] 1 running: one"] }
    let two = queue.add(waiting("two with a name that is too long", for: second.stream))
    let failing = queue.add(ProcedureTask("bad") { throw Failure() })
    _ = await failing.outcome
    let status = "[1/3] 2 running, 1 failed: one, two wi…"
    await advance(until: terminal) {
      $0 == ["[1/3] bad: failed", "    disk full", "    at block 7", status]
    }
    first.continuation.finish()
    _ = await one.outcome
    await advance(until: terminal) { $0.last == "[2/3] 1 running, 1 failed: two with a …" }
    progress.print("hello\u{1b}[2J\nworld")
    await advance(until: terminal) { Array($0.dropFirst(3).prefix(2)) == ["hello [2J", "world"] }
    second.continuation.finish()
    _ = await two.outcome
    await progress.finish()
    let lines = terminal.lines
    #expect(lines.count == 7 && lines[5].hasPrefix("2 finished, 1 failed in ") && lines[6] == "")
    #expect(terminal.writes.contains { $0.contains("\u{1b}[31mfailed\u{1b}[0m") })
    #expect(terminal.problems == [])
    progress.print("too late")
    await progress.finish()
    #expect(terminal.lines == lines)
  }

  @Test("Failures that the program itself reports are counted, but get no lines", arguments: [true, false])
  func hiddenFailures(isLive: Bool) async throws {
    let terminal = TerminalModel(isLive: isLive)
    let progress = TerminalProgress(on: terminal.output(), showsFailures: false, every: .seconds(1), clock: clock)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 1)
    await #expect(throws: ProcedureError.self) { try await progress.show(queue) { try await queue.run(graph) } }
    let lines = terminal.lines.filter { !$0.isEmpty }
    #expect(lines.last == "1 finished, 1 reused, 1 failed, 1 skipped in 0 s", "\(lines)")
    #expect(!lines.contains { $0.contains("fail: failed") || $0.contains("disk full") }, "\(lines)")
    #expect(terminal.problems == [])
  }

  @Test(
    "The name of a procedure that reports progress is followed by a percentage, and is shortened to make room for it")
  func percents() async throws {
    let terminal = TerminalModel(columns: 40)
    let progress = progress(on: terminal)
    let queue = ProcedureQueue("q")
    progress.show(queue)
    let (rest, go) = AsyncStream.makeStream(of: Void.self)
    let copying = queue.add(
      ProcedureTask("copy copy copy copy") {
        ProcedureContext.current?.progress.report(9, of: 20)
        for await _ in rest {}
      })
    await advance(until: terminal) { $0 == ["[0/1] 1 running: copy copy copy co… 45%"] }
    go.finish()
    _ = await copying.outcome
    await progress.finish()
    #expect(terminal.problems == [])
  }

  @Test("Log messages are printed above the status, and on standard error after the end")
  func log() async throws {
    let terminal = TerminalModel(columns: 40)
    let progress = progress(on: terminal)
    var configuration = ProcedureQueue.Configuration("q")
    configuration.log = ProcedureLog(to: progress)
    let queue = ProcedureQueue(configuration)
    progress.show(queue)
    let (rest, go) = AsyncStream.makeStream(of: Void.self)
    let waiting = queue.add(
      ProcedureTask("wait") {
        for await _ in rest {}
        ProcedureContext.current?.log.log(level: .warning, "the disk is\nfull")
      })
    await advance(until: terminal) { $0 == ["[0/1] 1 running: wait"] }
    go.finish()
    _ = await waiting.outcome
    await progress.finish()
    #expect(terminal.lines[0].hasPrefix("warning: the disk is full [") && terminal.lines[1].hasPrefix("1 finished in "))
    #expect(terminal.problems == [])
    progress.handle(ProcedureLogMessage(level: .debug, text: "This line of a test is meant to be here"))
    #expect(terminal.lines.count == 3)
  }

  @Test("A procedure that is retried is shown once, with its progress in whole percents")
  func retried() async throws {
    let queue = ProcedureQueue("q")
    let feed = queue.feed()
    let retried = ProcedureTask("retried") {
      ProcedureContext.current?.progress.report(29, of: 100)
      throw Failure()
    }
    _ = await queue.add(retried.retry(.immediate, maxAttempts: 3)).outcome
    feed.stop()
    var status = TerminalStatus()
    while let event = await feed.next() {
      _ = status.take(event, of: 1)
      let shown = status.firstExecuting(9).map { "\($0.name) \($0.percent ?? -1)" }
      #expect(shown.count == status.executing && shown.allSatisfy { ["retried -1", "retried 29"].contains($0) })
    }
    #expect(status.counts == [.failed: 1])
  }

  /// Advances the clock until the terminal shows the expected lines.
  private func advance(until terminal: TerminalModel, _ condition: @escaping @Sendable ([String]) -> Bool) async {
    let clock = clock
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        while !Task.isCancelled {
          guard (try? await clock.nextSleep()) != nil else { return }
          clock.advance(by: .seconds(1))
        }
      }
      await terminal.wait(until: condition)
      group.cancelAll()
    }
  }

  @Test("The terminal is drawn once per interval, regardless of how much happens")
  func rate() async throws {
    let terminal = TerminalModel()
    let progress = progress(on: terminal)
    let queue = ProcedureQueue("q")
    try await progress.show(queue) {
      for number in 0..<500 { try await queue.run(ProcedureTask("run \(number)") {}) }
      try await clock.nextSleep()
    }
    #expect(terminal.writes.count <= 2, "the first status, and the summary")
    #expect(terminal.lines == ["500 finished in 0 s", ""])
  }

  @Test(
    "Names and errors with any text stay on their lines, and have no effect on the terminal",
    arguments: hostileNames.indices)
  func hostile(index: Int) async throws {
    let name = hostileNames[index]
    for isLive in [true, false] {
      let terminal = TerminalModel(isLive: isLive, columns: 30)
      let progress = progress(on: terminal)
      let queue = ProcedureQueue(name)
      let entered = AsyncStream.makeStream(of: Void.self)
      let failing = ProcedureTask<Void, Void>(name) { throw Failure(description: name) }
      progress.show(queue)
      let executing = queue.add(ProcedureTask(name) { for await _ in entered.stream {} })
      if isLive { await advance(until: terminal) { $0.last?.hasPrefix("[0/1] 1 running: ") == true } }
      _ = await queue.add(failing).outcome
      entered.continuation.finish()
      _ = await executing.outcome
      await progress.finish()
      #expect(terminal.problems == [])
      #expect(terminal.lines.count <= 30 && terminal.lines.allSatisfy { $0.count <= 560 })
    }
  }

  @Test("A blocked terminal delays no procedure, the waiting output is bounded, and lost events are reported")
  func standingStill() async throws {
    let terminal = TerminalModel(isLive: false)
    let (stopped, go) = AsyncStream.makeStream(of: Void.self)
    let isStopped = Mutex(true)
    let output = terminal.output {
      if isStopped.withLock({ $0 }) { for await _ in stopped {} }
    }
    let progress = TerminalProgress(on: output, every: .seconds(1), clock: clock)
    let queue = ProcedureQueue("q")
    progress.show(queue.feed(bufferingNewest: 100))
    let name = String(repeating: "x", count: 490)
    for _ in 0..<4_000 { try await queue.run(ProcedureTask(name) {}) }
    for _ in 0..<9 { progress.print(String(repeating: "line\n", count: 100_000)) }
    isStopped.withLock { $0 = false }
    go.finish()
    async let finished: Void = progress.finish()
    await advance(until: terminal) { $0.dropLast().last?.contains(" finished") == true }
    await finished
    let summary = try #require(terminal.lines.dropLast().last)
    #expect(summary.contains("events were lost") && summary.contains("printed messages were lost"))
    #expect(terminal.writes.reduce(0) { $0 + $1.utf8.count } < 4 << 20)
  }

  @Test("A terminal gets a live display unless the environment says otherwise; a file and a pipe get plain lines")
  func environment() throws {
    var (test, child): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: 47, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&test, &child, nil, nil, &size) == 0)
    let handles = [test, child].map { FileHandle(fileDescriptor: $0, closeOnDealloc: true) }
    func looks(_ environment: [String: String]) -> [Bool] {
      let output = TerminalOutput(to: handles[1], environment: environment)
      return [output.isLive, output.usesColor]
    }
    #expect(looks(["TERM": "xterm"]) == [true, true])
    #expect(looks(["NO_COLOR": ""]) == [true, true])
    #expect(looks(["NO_COLOR": "1"]) == [true, false])
    #expect(looks(["TERM": "dumb"]) == [false, false])
    #expect(TerminalOutput(to: handles[1], environment: [:]).columnCount() == 47)
    let pipe = Pipe()
    let output = TerminalOutput(to: pipe.fileHandleForWriting, environment: ["TERM": "xterm"])
    #expect(!output.isLive && !output.usesColor && output.columnCount() == 80)
  }

  @Test("Text is written to its file, and a file that cannot be written does no harm")
  func file() async throws {
    // The test does not use a pipe, because programs that other tests start could keep its other end open.
    let place = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).txt")
    try Data().write(to: place)
    defer { try? FileManager.default.removeItem(at: place) }
    let file = try FileHandle(forWritingTo: place)
    await TerminalOutput(to: file).write("one\n")
    try file.close()
    #expect(try Data(contentsOf: place) == Data("one\n".utf8))
    let closed = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/null"))
    await TerminalOutput(to: closed).write("two\n")
  }

  @Test(
    "The width of a line is that on a terminal, and a line that is too long ends in …",
    arguments: [
      ("abc", 3, "abc", 3), ("abcd", 3, "ab…", 3), ("漢字", 4, "漢字", 4), ("漢字", 3, "漢…", 3), ("漢字", 2, "…", 1),
      ("❤\u{FE0F}a", 3, "❤\u{FE0F}a", 3), ("❤\u{FE0F}a", 2, "❤…", 2),
      ("e\u{301}a", 2, "e\u{301}a", 2), ("a\tb\u{1b}c\n", 9, "a b c ", 6), ("\u{202E}x", 2, "x", 1), ("😺x", 2, "…", 1),
      ("abc", 0, "", 0), ("abc", -1, "", 0), ("", 0, "", 0), ("a\u{9b}2J", 9, "a 2J", 4),
    ])
  func columns(_ text: String, limit: Int, line: String, columns: Int) {
    let result = TerminalText.line(text, columns: limit)
    #expect(Array(result.text.unicodeScalars) == Array(line.unicodeScalars) && result.columns == columns)
  }

  @Test("A megabyte of combining marks on one letter is cut off")
  func marks() {
    let line = TerminalText.line("a" + String(repeating: "\u{301}", count: 1_000_000), columns: 20)
    #expect(line.text.unicodeScalars.count < 300)
  }

  @Test("After lost events, the counts are consistent, and nothing is kept for runs whose end was lost")
  func gaps() async throws {
    let queue = ProcedureQueue("q")
    let feed = queue.feed(bufferingNewest: 20)
    var status = TerminalStatus()
    let go = AsyncStream.makeStream(of: Void.self)
    let open = queue.add(ProcedureTask("open") { for await _ in go.stream {} })
    for _ in 0..<2 { _ = status.take(try #require(await feed.next()), of: 1) }
    #expect(status.executing == 1 && status.total == 1)
    go.continuation.finish()
    _ = await open.outcome
    for number in 0..<100 { try await queue.run(ProcedureTask("\(number)") {}) }
    feed.stop()
    while let event = await feed.next() { _ = status.take(event, of: 1) }
    #expect(status.lost > 0 && status.executing == 0)
    #expect(status.finished == status.total && (1..<100).contains(status.total))
    #expect(status.firstExecuting(9).contains { _ in true } == false)
  }
}
