import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitDiagnostics

@Suite(.timeLimit(.minutes(10))) struct RunReportTests {
  /// Returns a recording with the nodes load (0–10 ms) → resize (12–40 ms) → write (40–45 ms) of a graph, and other work (0–20 ms).
  private func graph() -> (RunRecording, ids: [ProcedureID]) {
    let ids = RunRecording.identities(5)
    func run(_ index: Int, _ name: String, _ begin: Int, _ start: Int, _ end: Int, after: [Int] = []) -> RunRecord {
      var run = RunRecord(id: ids[index], name: name, queue: "q", begin: .milliseconds(begin))
      run.executions = [.init(attempt: 1, slot: index, begin: .milliseconds(start), end: .milliseconds(end))]
      run.end = .milliseconds(end)
      run.outcome = .finished
      run.dependencies = after.map { ids[$0] }
      if index > 0 { (run.parent, run.graph) = (ids[0], ids[0]) }
      return run
    }
    let runs = [
      run(0, "graph", 0, 0, 46), run(1, "load", 0, 0, 10), run(2, "resize", 0, 12, 40, after: [1]),
      run(3, "write", 0, 40, 45, after: [2, 4]), run(4, "beside", 0, 0, 20),
    ]
    return (RunRecording(runs: runs, duration: .milliseconds(50)), ids)
  }

  @Test("The critical path leads through the dependency that ended last")
  func path() {
    let path = CriticalPath(graph().0)
    #expect(path.steps.map(\.name) == ["load", "resize", "write", "graph"])
    #expect(path.steps.map(\.duration) == [10, 30, 5, 1].map { .milliseconds($0) })
    #expect(path.steps.map(\.executing) == [10, 28, 5, 1].map { .milliseconds($0) })
    #expect(path.steps[1].times.waiting == .milliseconds(2))
    #expect(path.duration == .milliseconds(46))
  }

  @Test("A cycle of dependencies, an unknown run or an empty recording ends the search", arguments: 0..<20)
  func anyRecording(seed: UInt64) {
    var recording = RunRecording.random(count: Int(seed), slots: 2, seed: seed)
    for index in recording.runs.indices {
      recording.runs[index].dependencies = [recording.runs[(index + 1) % recording.runs.count].id]
      recording.runs[index].parent = recording.runs[index / 2].id
    }
    // The number of steps of other runs between two steps of one run does not exceed the number of waits.
    #expect(CriticalPath(recording).duration <= recording.duration)
  }

  @Test("The path of a queue's own runs is at most as long as the recording")
  func real() async throws {
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q", maxConcurrentProcedures: 2)
    recorder.record(queue)
    let (hasDependent, isAdded) = AsyncStream<Never>.makeStream()
    let first = queue.add(ProcedureTask("first") { for await _ in hasDependent {} })
    let second = queue.add(
      ProcedureGraph("graph") { (g, _: Node<Void>) in
        let a = g.add(ProcedureTask("a") { await Task.yield() })
        return g.add(ProcedureTask("b") {}, after: [a])
      }, input: (), after: [first])
    isAdded.finish()
    _ = await second.outcome
    let recording = await recorder.finish()
    let path = CriticalPath(recording)
    // The graph takes short times in between.
    #expect(path.steps.map(\.name).filter { $0 != "graph" } == ["first", "a", "b"])
    let end = try #require(recording.runs.first { $0.name == "graph" }?.end)
    let begin = try #require(recording.runs.first { $0.name == "first" }?.begin)
    #expect(path.duration == end - begin)
  }

  @Test("The text names the runs that took the time, and says why runs failed, were skipped or were reused")
  func text() {
    var (recording, ids) = graph()
    recording.runs[2].outcome = .failed
    recording.runs[2].reason = "no memory"
    recording.runs[3].outcome = .skipped
    recording.runs[3].executions = []
    recording.runs[3].cause = ProcedureIdentity(id: ids[2], name: "resize")
    let text = RunReport(recording).text
    #expect(text.hasPrefix("4 runs in 50 ms: 2 finished, 1 failed, 1 skipped\n"))
    #expect(text.contains("  resize: no memory\n"))
    #expect(text.contains("  write: skipped because resize failed\n"))
    #expect(text.contains(/resize +28 ms +1 +28 ms +0 s +56%\n/))
    // The time of a graph is the time of its nodes, except for the time that the graph itself adds to the critical path.
    #expect(text.matches(of: #/  graph/#).count == 2)
    #expect(text.contains(/graph +6 ms +12%\n/))
    #expect(text.contains(/graph +6 ms +6 ms +12%\n/))
  }

  @Test("A long explanation is complete, in lines of at most 80 columns")
  func explanation() {
    var (recording, _) = graph()
    recording.runs[2].outcome = .failed
    let words = (1...40).map { "word\($0)" }
    recording.runs[2].reason = words.joined(separator: " ")
    let text = RunReport(recording).text
    #expect(text.split(whereSeparator: \.isWhitespace).filter { $0.hasPrefix("word") }.map(String.init) == words)
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test("Two spellings of a name are two rows, two queues on the timeline, and two queues of Prometheus")
  func spellings() throws {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    var recording = graph().0
    for (index, name) in [(1, composed), (2, decomposed), (4, composed)] {
      (recording.runs[index].name, recording.runs[index].queue) = (name, name)
      recording.runs[index].executions[0].slot = 0
    }
    let groups = RunReport(recording).groups.filter { $0.name == composed }
    #expect(groups.map(\.count).sorted() == [1, 2])
    #expect(Set(groups.map { Array($0.name.utf8) }).count == 2)
    // The slots are those of the graph, of the node on the queue "q", and of each spelling, one of which has two lanes.
    let lanes = TimelineLanes(recording).lanes
    #expect(Set(lanes.map { Array($0.queue.utf8) + Array($0.label.utf8) }).count == 4)
    #expect(lanes.count == 5 && lanes.count { $0.isFirst } == 3)
    let snapshots = [ProcedureQueue(composed), ProcedureQueue(decomposed), ProcedureQueue(composed)].map {
      $0.snapshot()
    }
    #expect(PrometheusQueue.merged(snapshots).count == 2)
  }

  @Test("Text and page lead with where the time went, what failed and why, and what to do about it")
  func lead() throws {
    var (recording, ids) = graph()
    recording.runs[1].outcome = .failed
    recording.runs[1].reason = "no memory"
    recording.runs[3].outcome = .skipped
    recording.runs[3].executions = []
    recording.runs[3].cause = ProcedureIdentity(id: ids[1], name: "load")
    recording.runs[4].outcome = nil
    recording.droppedCount = 3
    let report = RunReport(recording)
    let sections = ["Where the time went", "Failed", "What to do", "Critical path, "]
    for text in [report.text, report.html] {
      let places = try sections.map { try #require(text.firstRange(of: $0)).lowerBound }
      #expect(places == places.sorted())
      #expect(text.contains("no memory"))
      #expect(text.contains("Fix the failure of “load” first: because of it, 1 run was"))
      #expect(text.contains("Find out what keeps 1 run from finishing."))
      #expect(text.contains("Create the recorder with a higher limit"))
    }
    #expect(
      report.html.firstRange(of: "<h2>Timeline")!.lowerBound > report.html.firstRange(of: "What to do")!.lowerBound)
    #expect(report.longest.map(\.name) == ["resize", "load", "graph"])
    #expect(report.text.contains(/Where the time went +duration +share\n  resize +30 ms +60%\n  load +10 ms +20%\n/))
  }

  @Test("Runs on the critical path whose names begin with the same word are one part, which names the slowest")
  func parts() {
    var recording = graph().0
    for (index, name) in [(1, "load a"), (2, "load b"), (3, "write")] { recording.runs[index].name = name }
    let parts = RunReport(recording).longest
    #expect(parts.map(\.name) == ["load …", "write"])
    #expect(parts.map(\.duration) == [.milliseconds(40), .milliseconds(5)])
    #expect(parts[0].count == 2 && parts[0].slowest.name == "load b")
    #expect(RunReport(recording).text.contains("  load … (2 runs)  "))
    #expect(RunReport(recording).html.contains("2 runs, slowest: load b"))
  }

  @Test("The advice for waits for a slot depends on whether the slots were in use", arguments: [true, false])
  func slots(areInUse: Bool) {
    let runs = RunRecording.identities(3).enumerated().map { index, id in
      var run = RunRecord(id: id, name: "run \(index)", queue: "q", begin: .zero)
      let (begin, end) = (Duration.milliseconds(index * 100), Duration.milliseconds(index * 100 + 99))
      run.executions = [.init(attempt: 1, slot: 0, slotWait: begin, begin: begin, end: end)]
      (run.end, run.outcome, run.metrics) = (end, .finished, ProcedureMetrics(waiting: begin, executing: end - begin))
      return run
    }
    // Without the other runs, nothing was using the slot for which the last run waited.
    let report = RunReport(RunRecording(runs: areInUse ? runs : [runs[2]], duration: .milliseconds(300)))
    let expected =
      areInUse
      ? "Allow the queue “q” to execute more procedures at the same time, if the machine has the capacity. The queue's 1 slot was in use "
        + "most of the time, and runs waited for a slot for 300 ms in total."
      : "Find out what kept the queue “q” from starting runs sooner. Possible causes: bodies that block threads, or too few "
        + "processors. Over the whole recording, the queue used 1 slot, and 0.3 bodies were executing on average. "
        + "Runs on the critical path waited for a slot for 200 ms (67%)."
    #expect(report.advice.first == expected)
    #expect(report.advice.count == 2)
  }

  @Test("Progress, text, page and timeline count the same runs: a graph counts only if it failed although no node did")
  func counts() async throws {
    struct Failure: Error {}
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    let progress = TerminalProgress(on: TerminalOutput(isLive: false, usesColor: false) { text in line.yield(text) })
    let recorder = RunRecorder()
    let queue = ProcedureQueue("q")
    recorder.record(queue)
    progress.show(queue)
    let steps = ProcedureGraph("steps", returning: Void.self) { g in
      let failing = g.add(ProcedureTask("fail") { throw Failure() })
      g.add(ProcedureTask("skipped") {}, after: [failing])
      g.add(ProcedureTask("beside") {})
    }.onFailure(.collect)
    let outer = ProcedureGraph("outer", returning: Void.self) { g in
      g.add(steps)
      g.add(ProcedureTask("reused") { 1 }.reusing("cache") { 2 })
    }.onFailure(.collect)
    let work = ProcedureGraph("itself", returning: Void.self) { g in
      g.add(ProcedureTask("node") {})
    }.intercepted { _, next in
      try await next()
      throw Failure()
    }
    let parent = ProcedureTask("parent") { try await queue.run(ProcedureTask("child") {}) }
    for handle in [queue.add(outer), queue.add(work), queue.add(parent)] { _ = await handle.outcome }
    await progress.finish()
    line.finish()
    let recording = await recorder.finish()
    let output = await lines.reduce("", +)

    let counts = "4 finished, 1 reused, 2 failed, 1 skipped"
    #expect(output.contains("\n\(counts) in "), "\(output)")
    let report = RunReport(recording)
    #expect(report.text.hasPrefix("8 runs in \(recording.duration.short): \(counts)\n"), "\(report.text)")
    #expect(report.html.contains("<h1>8 runs in \(recording.duration.short): \(counts)</h1>"))
    #expect(report.failures.map(\.name).sorted() == ["fail", "itself"])
    #expect(report.counts.reduce(0) { $0 + $1.count } == 8)
    for svg in [report.html, Timeline(recording).svg] { #expect(svg.contains("aria-label=\"Timeline of 8 runs\"")) }
    #expect(Timeline(recording).svg.contains(">8 runs in \(recording.duration.short): \(counts)<"))
  }

  @Test("The page needs no other resources")
  func page() throws {
    let html = RunReport(graph().0).html
    #expect(!html.contains("<script") && !html.contains("src=") && !html.contains("href="))
    let urls = html.matches(of: /https?:[^"<\s]*/).map { String($0.0) }
    #expect(urls.allSatisfy { $0 == "http://www.w3.org/2000/svg" })
  }

  @Test("The report of an empty recording states that it is empty")
  func nothing() {
    let report = RunReport(RunRecording(runs: [], duration: .zero))
    #expect(report.text == "0 runs in 0 s\n")
    #expect(report.html.contains("0 runs"))
  }
}
