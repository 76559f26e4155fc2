import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import Testing

/// The code of the guide *Seeing what happens* that needs ProcedureKitDiagnostics, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct SeeingWhatHappensGuide {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "guide-\(UUID().uuidString)")
  private let job = ProcedureTask("job") {}

  private func withFolder(_ body: (URL) async throws -> Void) async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test("A trace of a run is written to a file")
  func traces() async throws {
    try await withFolder { folder in
      let queue = ProcedureQueue("photos")
      let recorder = try TraceRecorder(file: folder.appending(path: "trace.json"))
      recorder.record(queue)
      try await queue.run(job)
      try await recorder.finish()
      let trace = try String(contentsOf: folder.appending(path: "trace.json"), encoding: .utf8)
      #expect(trace.contains("\"job\""))
    }
  }

  @Test("A recording becomes a report and a diagram")
  func records() async throws {
    try await withFolder { folder in
      let queue = ProcedureQueue("photos")
      let recorder = RunRecorder()
      recorder.record(queue)
      try await queue.run(job)
      let recording = await recorder.finish()
      let report = RunReport(recording)
      print(report.text)
      try Data(report.html.utf8).write(to: folder.appending(path: "report.html"))
      try Data(Timeline(recording).svg.utf8).write(to: folder.appending(path: "timeline.svg"))
      let diagram = RunDiagram(recording).mermaid
      #expect(report.text.contains("1 run in") && diagram.contains("job"))
    }
  }

  @Test("A terminal shows the progress of a queue")
  func terminal() async throws {
    let queue = ProcedureQueue("photos")
    let progress = TerminalProgress()
    try await progress.show(queue) { try await queue.run(job) }
  }

  @Test("A log can be written alongside the terminal's status")
  func log() async throws {
    let progress = TerminalProgress(on: TerminalOutput(isLive: false, usesColor: false) { _ in })
    var configuration = ProcedureQueue.Configuration("photos")
    configuration.log = ProcedureLog(to: progress)
    let queue = ProcedureQueue(configuration)
    try await progress.show(queue) { try await queue.run(job) }
    #expect(configuration.log?.handler is TerminalProgress)
  }

  @Test("The progress can be written to a stream instead of a terminal")
  func output() async throws {
    let queue = ProcedureQueue("photos")
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let output = TerminalOutput(isLive: false, usesColor: false) { text in line.yield(text) }
    try await TerminalProgress(on: output).show(queue) { try await queue.run(job) }
    line.finish()
    #expect(await lines.reduce("", +).hasPrefix("[1/1] job\n1 finished in "))
  }

  @Test("The metrics of a queue become a page for a server")
  func prometheus() async throws {
    let queue = ProcedureQueue("photos")
    let page = PrometheusText([queue.snapshot()]).text
    #expect(page.contains("procedurekit_slots_in_use{queue=\"photos\"} 0\n"))
  }

  @Test("An activity counter turns an indicator on and off")
  func indicator() async throws {
    let transfers = ActivityCounter()
    let download = job.counted(by: transfers)
    var states: [Bool] = []
    for await isActive in transfers.changes {
      states.append(isActive)
      if states.count == 1 { try await download() }
      if states.count > 1 { break }
    }
    #expect(states == [false, false] || states == [false, true])
  }
}
