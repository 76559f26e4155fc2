import Foundation
import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKitDiagnostics

@Suite(.timeLimit(.atDepth)) struct TraceRecorderTests {
  private struct Failure: Error {}

  private let bytes = TraceBytes()
  private let recorder: TraceRecorder

  init() {
    let bytes = bytes
    recorder = TraceRecorder(file: URL(fileURLWithPath: "/trace.json")) { bytes.append($0) }
  }

  private func finished() async throws -> TraceFile {
    try await recorder.finish()
    return try TraceFile(bytes.data)
  }

  @Test("Executions, waits, attempts, failures, cancellations and dependencies are drawn")
  func drawn() async throws {
    let queue = ProcedureQueue("images", maxConcurrentProcedures: 2)
    recorder.record(queue)
    let first = queue.add(ProcedureTask("load") {})
    let second = queue.add(ProcedureTask("resize") {}, after: [first])
    try await second.value
    let failing = queue.add(ProcedureTask("fail") { throw Failure() }.retry(.immediate, maxAttempts: 3))
    _ = await failing.outcome
    queue.suspend()
    let cancelled = queue.add(ProcedureTask("never") {})
    cancelled.cancel()
    _ = await cancelled.outcome
    queue.resume()
    let trace = try await finished()

    #expect(trace.problems == [])
    #expect(trace.lines("B").map(\.name) == ["load", "resize", "fail", "fail (2)", "fail (3)"])
    #expect(
      Set(trace.lines("b").compactMap(\.name)) == [
        "load waits", "resize waits", "fail waits", "fail pause", "never waits",
      ])
    let instants = trace.lines("i").compactMap(\.name)
    #expect(instants.filter { $0.hasPrefix("fail: attempt") }.count == 2)
    #expect(instants.contains("fail: failed"))
    #expect(instants.contains("never: cancelled"))
    #expect(trace.lines("M").compactMap(\.args?.name).contains("images"))
    #expect(trace.lines("M").compactMap(\.args?.name).contains("slot 0"))
    // The arrow leads from the end of one slice to the beginning of the other.
    let (start, end) = (trace.lines("s"), trace.lines("f"))
    #expect(start.count == 1 && end.count == 1 && start[0].id == end[0].id)
    #expect(start[0].ts <= end[0].ts)
    #expect(trace.lines("E").contains { $0.ts == start[0].ts && $0.tid == start[0].tid })
    #expect(trace.lines("B").contains { $0.name == "resize" && $0.ts == end[0].ts && $0.tid == end[0].tid })
  }

  @Test("Nested work, graphs and released slots never overlap in a lane")
  func lanes() async throws {
    let queue = ProcedureQueue("nested", maxConcurrentProcedures: 3)
    recorder.record(queue)
    let inner = ProcedureTask("inner") { await Task.yield() }
    let outer = ProcedureTask("outer") {
      try await queue.run(inner)
      let child = ProcedureContext.current!.produce(inner)
      _ = try await child.value
    }
    let graph = ProcedureGraph("graph") { (g, _: Node<Void>) in
      let a = g.add(outer)
      let b = g.add(outer)
      return g.add("join", from: a, b) { _, _ in }
    }
    for _ in 0..<20 { queue.add(graph, input: ()) }
    await queue.waitUntilIdle()
    let trace = try await finished()
    #expect(trace.problems == [])
    #expect(trace.lines("B").filter { $0.name == "inner" }.count == 80)
  }

  @Test(
    "Names with any text do not break a line",
    arguments: [
      "\"quoted\"", "two\nlines\r\n", "tab\tand \u{0} and \u{7f}", "👩‍👩‍👧 emoji", "[brackets]{}", "</script>", "\\",
      String(repeating: "long ", count: 200_000),
    ])
  func names(_ name: String) async throws {
    let queue = ProcedureQueue(name)
    recorder.record(queue)
    let failing = ProcedureTask(name) { throw ProcedureTestError(text: name) }
    _ = await queue.add(failing).outcome
    let trace = try await finished()
    #expect(trace.problems == [])
    #expect(bytes.data.count < 20_000)
    #expect(trace.lines("B").first?.name?.count ?? 0 <= 200)
    // Every event is one line.
    let lineCount = bytes.data.split(separator: UInt8(ascii: "\n")).count
    #expect(lineCount == trace.lines.count + 1)
  }

  private struct ProcedureTestError: Error {
    let text: String
  }

  @Test("Every complete line of a trace that is cut off at any byte can be read")
  func torn() async throws {
    let queue = ProcedureQueue("torn")
    recorder.record(queue)
    for _ in 0..<5 { try await queue.run(ProcedureTask("né") {}) }
    try await recorder.finish()
    let data = bytes.data
    let all = try TraceFile(data).lines.count
    for length in 0...data.count {
      let lines = try TraceFile.wholeLines(of: data.prefix(length))
      #expect(lines.count <= all)
    }
    #expect(try TraceFile.wholeLines(of: data).count == all)
  }

  @Test("A write error names the file, and affects no procedure")
  func errors() async throws {
    let recorder = TraceRecorder(file: URL(fileURLWithPath: "/full/trace.json")) { _ in throw Failure() }
    let queue = ProcedureQueue("q")
    recorder.record(queue)
    try await queue.run(ProcedureTask("fine") {})
    let error = await #expect(throws: TraceError.self) { try await recorder.finish() }
    #expect(error?.description.contains("/full/trace.json") ?? false)
    let missing = #expect(throws: TraceError.self) {
      try TraceRecorder(file: URL(fileURLWithPath: "/no/such/folder/trace.json"))
    }
    #expect(missing?.description.hasSuffix("could not be written completely: No such file or directory") == true)
    #if os(Linux)
      let full = try TraceRecorder(path: "/dev/full")
      full.record(queue)
      let noSpace = await #expect(throws: TraceError.self) { try await full.finish() }
      #expect(noSpace?.description.hasSuffix("could not be written completely: No space left on device") == true)
    #endif
    #expect(throws: TraceError.self) { try TraceRecorder(file: URL(fileURLWithPath: "/dev/null\0x")) }
    #expect(throws: TraceError.self) { try TraceRecorder(path: "/dev/null\0x") }
    let hostile = #expect(throws: TraceError.self) {
      try TraceRecorder(file: URL(fileURLWithPath: "/no/\u{1b}[2J\u{9b}\u{202e}/trace.json"))
    }
    #expect(hostile?.description.unicodeScalars.allSatisfy { $0.harmless() == $0 } == true)
  }

  @Test("A blocked disk delays no procedure, and lost events are marked")
  func slow() async throws {
    let gate = DispatchSemaphore(value: 0)
    let isOpen = Mutex(false)
    let bytes = bytes
    let recorder = TraceRecorder(file: URL(fileURLWithPath: "/slow/trace.json")) { piece in
      if !isOpen.withLock({ $0 }) { gate.wait() }
      bytes.append(piece)
    }
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    recorder.record(queue.feed(bufferingNewest: 100))
    // There are far more procedures than the buffer holds, and all of them end although the disk is blocked.
    for _ in 0..<3_000 { try await queue.run(ProcedureTask("one") {}) }
    isOpen.withLock { $0 = true }
    gate.signal()
    try await recorder.finish()
    let trace = try TraceFile(bytes.data)
    #expect(trace.problems == [])
    #expect(trace.lines("i").contains { $0.name?.hasSuffix("events lost") ?? false })
  }

  @Test("A trace of 100,000 runs is written in small pieces while they run, and is complete if its task is cancelled")
  func many() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
    try Data().write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let handle = try FileHandle(forWritingTo: file)
    let pieces = Mutex([Int]())
    let recorder = TraceRecorder(file: file) { piece in
      pieces.withLock { $0.append(piece.count) }
      try handle.write(contentsOf: piece)
    }
    let count = TestDepth.count(100_000)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    recorder.record(queue.feed(bufferingNewest: .max))
    let run = ProcedureTask("run") {}
    let task = Task {
      for _ in 0..<count { try? await queue.run(run) }
      withUnsafeCurrentTask { $0?.cancel() }
      #expect(Task.isCancelled)
      try await recorder.finish()
    }
    try await task.value
    // The recorder keeps only the piece of the trace that has not been written yet. The lines of a single event can exceed the size of a
    // piece.
    let largest = pieces.withLock { $0.max() ?? 0 }
    #expect(largest < TraceWriter.pieceSize + 8_192)
    let data = try Data(contentsOf: file)
    #expect(data.count > 200 * count)
    let lines = try #require(try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
    #expect(lines.count { $0["ph"] as? String == "B" } == count)
  }

  @Test("A killed process leaves an open array of complete lines, and a recorder that is dropped closes the array")
  func dropped() async throws {
    let (pieces, piece) = AsyncStream.makeStream(of: Data.self)
    var recorder: TraceRecorder? = TraceRecorder(file: URL(fileURLWithPath: "/trace.json")) { piece.yield($0) }
    let queue = ProcedureQueue("q")
    recorder?.record(queue)
    try await queue.run(ProcedureTask("one") {})
    var (written, iterator) = (Data(), pieces.makeAsyncIterator())
    var lines: [TraceFile.Line] = []
    while !lines.contains(where: { $0.ph == "E" }) {
      written += try #require(await iterator.next())
      #expect(written.last == UInt8(ascii: "}"))
      lines = try TraceFile.wholeLines(of: written + Data("\n,".utf8))
    }
    recorder = nil
    written += try #require(await iterator.next())
    #expect(try TraceFile(written).lines.count == lines.count)
  }

  @Test("Only procedures that have not ended are kept in memory")
  func memory() async throws {
    var drawing = TraceDrawing()
    drawing.add(queue: 1, name: "q", offset: 0)
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 4)
    let feed = queue.feed(bufferingNewest: .max)
    var last: ProcedureHandle<Void>?
    for _ in 0..<1_000 { last = queue.add(ProcedureTask("one") {}, after: last.map { [$0] } ?? []) }
    await queue.waitUntilIdle()
    feed.stop()
    while let event = await feed.next() { drawing.draw(event, of: 1, problem: nil) }
    #expect(drawing.runCount == 0)
  }
}
