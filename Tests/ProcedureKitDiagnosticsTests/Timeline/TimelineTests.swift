import Foundation
import ProcedureKit
import TestSupport
import Testing

@testable import ProcedureKitDiagnostics

@Suite(.timeLimit(.minutes(10))) struct TimelineTests {
  /// Returns the bars of a picture, each with the elements that it contains.
  private func bars(_ picture: Markup) -> [[Markup.Element]] {
    picture.elements.split(omittingEmptySubsequences: true) { $0.name == "g" }.dropFirst()
      .map { $0.prefix { !$0.has("critical") } }.filter { $0.first?.name == "title" }.map(Array.init)
  }

  @Test("A timeline is well-formed, and everything is inside the picture", arguments: [0, 1, 3, 40, 2_000])
  func geometry(count: Int) throws {
    let recording = RunRecording.random(count: count, slots: 4, seed: UInt64(count))
    for width in [400, 1_200] {
      let picture = try Markup(Timeline(recording, width: width).svg)
      let svg = try #require(picture.all("svg").first)
      #expect(
        svg.number("width") == Double(width) && svg.attributes["viewBox"] == "0 0 \(width) \(Int(svg.number("height")))"
      )
      for element in picture.elements.dropFirst() {
        #expect(element.right(width) <= Double(width) + 0.1, "\(element)")
        #expect(!(element.number("y") + element.number("height") > svg.number("height")), "\(element)")
      }
      // Each execution is a bar with a tooltip.
      let executionCount = recording.runs.reduce(0) { $0 + $1.executions.count }
      #expect(picture.all("g", class: "bar").count == executionCount)
      #expect(picture.all("title").count == executionCount)
    }
  }

  @Test(
    "In a page, a timeline is as wide as the page, and each label fits at the widths at which it is shown",
    arguments: [3, 40, 2_000])
  func page(count: Int) throws {
    let recording = RunRecording.random(
      count: count, slots: 4, seed: UInt64(count), names: ["a long name", "x", "WWWWW"])
    let page = try Markup(RunReport(recording).html.replacingOccurrences(of: "<!DOCTYPE html>", with: ""))
    for svg in page.all("svg") where svg.attributes["width"].map({ !$0.hasSuffix("%") }) ?? false {
      #expect(svg.number("width") <= 16, "\(svg)")
    }
    for element in page.elements {
      let from = [600, 800, 1_000, 1_200].first { element.has("from\($0)") }
      // The page has a margin of 16 points on each side.
      let width = from ?? 400 - 32
      #expect(element.right(width) <= Double(width), "\(element)")
    }
    for width in [600, 800, 1_000, 1_200] {
      #expect(TimelineDrawing.pageStyle.contains(".from\(width) { display: none; }"))
    }
  }

  @Test("Executions in one lane do not overlap, even if slots are released")
  func lanes() {
    var recording = RunRecording.random(count: 300, slots: 3, seed: 7)
    for index in recording.runs.indices where index % 5 == 0 { recording.runs[index].executions[0].slot = 0 }
    let lanes = TimelineLanes(recording)
    for (_, bars) in Dictionary(grouping: lanes.bars, by: \.lane) {
      let sorted = bars.sorted { ($0.begin, $0.end) < ($1.begin, $1.end) }
      for (previous, next) in zip(sorted, sorted.dropFirst()) { #expect(previous.end <= next.begin) }
    }
    #expect(lanes.bars.count == recording.runs.reduce(0) { $0 + $1.executions.count })
  }

  @Test("Each lane has a label with its slot, below the name of its queue")
  func labels() throws {
    var recording = RunRecording.random(count: 9, slots: 3, seed: 1)
    for index in recording.runs.indices { recording.runs[index].queue = "a queue with a long name" }
    // These runs overlap, so there are two lanes for slot 1.
    recording.runs[8].executions[0] = recording.runs[0].executions[0]
    recording.runs[0].executions[0].slot = 1
    recording.runs[8].executions[0].slot = 1
    recording.runs[7].executions[0].slot = nil
    let picture = try Markup(Timeline(recording).svg)
    let labels = picture.all("text", class: "label").map(\.text)
    #expect(labels.count == picture.all("rect", class: "lane").count)
    #expect(Set(labels) == ["slot 0", "slot 1", "slot 2", "no slot"])
    #expect(labels.count { $0 == "slot 1" } > 1)
    #expect(picture.all("text", class: "queue").map(\.text) == ["a queue with a long name"])
  }

  @Test("A name is shown completely, in its bar or in the room beside it, or not at all")
  func texts() throws {
    let times = [(0, 5), (50, 52), (58, 90), (95, 97)]
    let runs = zip(RunRecording.identities(times.count), times).map { id, time in
      var run = RunRecord(id: id, name: "resize kitten-64.png", queue: "q", begin: .milliseconds(time.0))
      run.executions = [.init(attempt: 1, slot: 0, begin: .milliseconds(time.0), end: .milliseconds(time.1))]
      (run.end, run.outcome) = (.milliseconds(time.1), .finished)
      return run
    }
    let picture = try Markup(Timeline(RunRecording(runs: runs, duration: .milliseconds(100))).svg)
    let bars = bars(picture)
    let names = bars.map { $0.first { $0.has("name") } }
    #expect(names.map { $0?.has("beside") } == [true, nil, false, true])
    for case (let bar, let name?) in zip(bars, names) {
      #expect(name.text == "resize kitten-64.png")
      let run = try #require(bar.first { $0.has("run") })
      #expect(
        name.attributes["x"]
          == "\(name.has("beside") ? (run.right(1_000) - 48) / 10 : (run.position("x", 1_000) - 48) / 10)%")
    }
    // In a narrow picture, there is less room.
    let narrow = try Markup(Timeline(RunRecording(runs: runs, duration: .milliseconds(100)), width: 400).svg)
    #expect(narrow.all("text", class: "name").count == 1)
    #expect(names[0]?.has("from400") == false && names[2]?.has("from600") == true)
  }

  @Test("The elements of a map, and names that begin with the same word, have one colour, regardless of other runs")
  func colours() {
    func style(_ name: String, _ collection: String? = nil, among runs: [RunRecord]) -> String {
      var run = runs[0]
      (run.name, run.collection) = (name, collection)
      return TimelineColours(runs + [run]).style(of: run)
    }
    var runs = RunRecording.random(count: 90, slots: 2, seed: 3, names: ["load a", "load b", "write", "one", "two"])
      .runs
    for index in runs.indices where index % 3 == 0 {
      (runs[index].name, runs[index].collection) = ("element \(index)", "thumbnails")
    }
    let all = TimelineColours(runs)
    #expect(all.style(of: runs[0]) == all.style(of: runs[3]))
    #expect(style("load a", among: runs) == style("load b", among: runs))
    #expect(Set(all.entries.map(\.style)).count == all.entries.count && all.entries.count == 5 && !all.hasOthers)
    #expect(Set(all.entries.map(\.name)) == ["thumbnails", "load …", "write", "one", "two"])
    for run in runs {
      #expect(TimelineColours(runs.reversed()).style(of: run) == all.style(of: run))
      // Further runs of the same procedures change nothing.
      #expect(TimelineColours(Array(runs.prefix(40)) + runs).style(of: run) == all.style(of: run))
    }
    // With more procedures than colours, those that took the most time have a colour.
    for index in runs.indices { (runs[index].name, runs[index].collection) = ("name\(index / 9)", nil) }
    let many = TimelineColours(runs)
    #expect(many.entries.count == TimelineColours.count && many.hasOthers)
    #expect(runs.contains { many.style(of: $0) == "other" })
  }

  @Test(
    "Colours can be distinguished by people who are colour-blind, and names can be read on them",
    arguments: [false, true])
  func palette(isDark: Bool) throws {
    let parts = TimelineStyle.definitions.split(separator: "@media")
    let matches = parts[isDark ? 1 : 0].matches(of: #/\.c\d \{ fill: #(..)(..)(..);/#)
    let colours = try matches.map { match in
      try [match.1, match.2, match.3].map { part in
        let value = try Double(#require(Int(part, radix: 16))) / 255
        return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
      }
    }
    #expect(colours.count == TimelineColours.count)
    func times(_ matrix: [[Double]], _ vector: [Double]) -> [Double] {
      matrix.map { row in zip(row, vector).reduce(0) { $0 + $1.0 * $1.1 } }
    }
    for colour in colours {
      let brightness = times([[0.2126, 0.7152, 0.0722]], colour)[0] + 0.05
      #expect((isDark ? brightness / 0.059 : 1.05 / brightness) >= 4.5)
    }
    // How people with normal vision, protanopia, deuteranopia and tritanopia see linear colours (Machado, Oliveira and Fernandes, 2009).
    let visions: [[[Double]]] = [
      [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
      [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
      [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
      [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ]
    for vision in visions {
      // The distance is measured in Oklab, in which it is proportional to the perceived difference.
      let seen = colours.map { colour in
        let light = times(vision, colour).map { min(max($0, 0), 1) }
        let cones = times(
          [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]], light)
        return times(
          [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]], cones.map { cbrt($0) })
      }
      for (index, one) in seen.enumerated() {
        for other in seen[..<index] {
          #expect(sqrt(zip(one, other).reduce(0) { $0 + pow($1.0 - $1.1, 2) }) > 0.05, "\(one) \(other)")
        }
      }
    }
  }

  /// Returns a recording of a graph (0–100 ms) with the nodes load (0–30) and beside (0–20) → write (40–90), in slots of their own.
  private func graph() -> RunRecording {
    let ids = RunRecording.identities(4)
    func run(_ index: Int, _ name: String, _ begin: Int, _ end: Int, after: [Int] = []) -> RunRecord {
      var run = RunRecord(id: ids[index], name: name, queue: "q", begin: .zero)
      run.executions = [.init(attempt: 1, slot: index, begin: .milliseconds(begin), end: .milliseconds(end))]
      (run.end, run.outcome, run.dependencies) = (.milliseconds(end), .finished, after.map { ids[$0] })
      if index > 0 { (run.parent, run.graph) = (ids[0], ids[0]) }
      return run
    }
    let runs = [
      run(0, "graph", 0, 100), run(1, "load", 0, 30), run(2, "beside", 0, 20), run(3, "write", 40, 90, after: [1, 2]),
    ]
    return RunRecording(runs: runs, duration: .milliseconds(100))
  }

  @Test("The critical path is outlined, and the tooltips say how long a bar was on it")
  func criticalPath() throws {
    let picture = try Markup(Timeline(graph()).svg)
    let outlines = picture.all("rect", class: "critical").filter { $0.attributes["x"]?.hasSuffix("%") ?? false }
    // The lanes are those of the graph, of load, of beside and of write, from top to bottom.
    let runs = picture.all("rect", class: "run")
    let rows = outlines.map { outline in runs.firstIndex { $0.attributes["y"] == outline.attributes["y"] } }
    #expect(rows == [0, 1, 3])
    #expect(outlines[1].attributes["x"] == runs[1].attributes["x"])
    #expect(outlines[1].attributes["width"] == runs[1].attributes["width"])
    // The graph itself is on the path only after its last node.
    #expect(outlines[0].position("x", 1_200) > runs[0].right(1_200) - 0.11 * 1_200)
    #expect(abs(outlines[0].right(1_200) - runs[0].right(1_200)) < 0.1)
    let tooltips = picture.all("title").map(\.text)
    #expect(tooltips.map { $0.contains("on the critical path") } == [true, true, false, true])
  }

  @Test("A bar is pale while its body waits for nested work")
  func nested() throws {
    var recording = graph()
    recording.runs[3].awaits = [.init(run: recording.runs[1].id, end: .milliseconds(60))]
    let picture = try Markup(Timeline(recording).svg)
    let nested = bars(picture).map { $0.filter { $0.has("nested") } }
    #expect(nested.map(\.count) == [1, 0, 0, 1])
    #expect(nested[0][0].position("x", 1_000) == 48 && nested[0][0].right(1_000) == 48 + 0.9 * 850)
    #expect(nested[3][0].position("x", 1_000) == 48 + 0.4 * 850 && nested[3][0].right(1_000) == 48 + 0.6 * 850)
    #expect(picture.all("title")[0].text.contains("including 90 ms spent waiting for nested work"))
  }

  @Test("Each bar contains lines to its dependencies, which are visible only under the pointer")
  func dependencies() throws {
    let picture = try Markup(Timeline(graph()).svg)
    let bars = bars(picture)
    #expect(bars.map { $0.count { $0.name == "line" && $0.has("link") } } == [0, 0, 0, 2])
    let links = bars[3].filter { $0.name == "rect" && $0.has("link") }
    let runs = picture.all("rect", class: "run")
    for (link, run) in zip(links, runs[1...2]) {
      for name in ["x", "y", "width", "height"] { #expect(link.attributes[name] == run.attributes[name]) }
    }
    #expect(TimelineStyle.definitions.contains(".link { visibility: hidden;"))
    #expect(TimelineStyle.definitions.contains(".bar:hover .link { visibility: visible; }"))
  }

  @Test("A failed run can be recognized without colour")
  func failure() throws {
    var recording = graph()
    recording.runs[1].outcome = .failed
    let bar = try bars(Markup(Timeline(recording).svg))[1]
    #expect(bar.contains { $0.attributes["fill"] == "url(#timeline-failure)" } && bar.contains { $0.has("end") })
    #expect(bar.contains { $0.text == "✕ load" })
    // A retried attempt has failed, but an execution that is followed by a repetition has not.
    recording.runs[2].executions.append(.init(attempt: 2, slot: 2, begin: .milliseconds(20), end: .milliseconds(20)))
    for isRetried in [true, false] {
      recording.runs[2].executions[0].isRetried = isRetried
      let bar = try bars(Markup(Timeline(recording).svg))[2]
      #expect(bar.contains { $0.has("end") } == isRetried && bar[0].text.contains("attempt 1 of 2"))
    }
  }

  @Test("Names with any text do not break a timeline or a page", arguments: hostileNames.indices)
  func names(_ index: Int) throws {
    let count = TestDepth.isAtLeastGate ? 8 : 3
    var recording = RunRecording.random(count: count, slots: 2, seed: 1, names: [hostileNames[index]])
    for index in recording.runs.indices { recording.runs[index].queue = hostileNames[index % hostileNames.count] }
    let svg = Timeline(recording).svg
    #expect(try Markup(svg).all("g", class: "bar").isEmpty == false)
    #expect(svg.utf8.count < 100_000)
    let report = RunReport(recording)
    // The page has one line that is not XML.
    let page = report.html.replacingOccurrences(of: "<!DOCTYPE html>", with: "")
    #expect(try Markup(page).all("h1").count == 1)
    #expect(report.html.utf8.count < 200_000)
    #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test(
    "The axis has round steps, and not too many of them",
    arguments: [0, 1, 7, 999, 1_000, 12_345, 1_000_000_000, 86_400_000_000_000])
  func axis(nanoseconds: Int64) {
    let marks = TimelineAxis(.nanoseconds(nanoseconds), count: 8).marks
    #expect(marks.count <= 10)
    #expect(marks.first == .zero)
    guard marks.count > 1 else { return }
    let step = String(marks[1].inNanoseconds)
    #expect("125".contains(step.first!) && step.dropFirst().allSatisfy { $0 == "0" })
  }

  @Test("A timeline can show thousands of runs")
  func many() throws {
    let count = TestDepth.isAtLeastGate ? 10_000 : 2_500
    let recording = RunRecording.random(count: count, slots: 8, seed: 5)
    let svg = Timeline(recording).svg
    #expect(try Markup(svg).all("g", class: "bar").count >= count)
    #expect(svg.utf8.count < 15_000_000)
  }

  @Test(
    "Durations are printed in a short form",
    arguments: [
      (Duration.zero, "0 s"), (.nanoseconds(200), "< 1 µs"), (.microseconds(1), "1 µs"),
      (.milliseconds(1_250), "1.25 s"),
      (.microseconds(999_999), "1 s"), (.milliseconds(34), "34 ms"), (.seconds(59), "59 s"),
      (.seconds(125), "2 min 5 s"),
      (.seconds(7_500), "2 h 5 min"), (.milliseconds(-5), "-5 ms"),
    ])
  func durations(_ duration: Duration, _ text: String) {
    #expect(duration.short == text)
  }
}

extension Markup.Element {
  fileprivate func has(_ style: String) -> Bool {
    (attributes["class"] ?? "").split(separator: " ").contains(Substring(style))
  }

  /// Returns a horizontal position in a picture of the given width. Percentages begin at the right edge of the labels of the lanes.
  fileprivate func position(_ name: String, _ width: Int) -> Double {
    guard let percent = attributes[name].flatMap({ $0.hasSuffix("%") ? Double($0.dropLast()) : nil }) else {
      return number(name)
    }
    return 48 + percent / 100 * Double(width)
  }

  /// Returns the position of the right edge in a picture of the given width; for text, the position that it has in a common font.
  fileprivate func right(_ width: Int) -> Double {
    guard attributes["x"] != nil else { return 0 }
    if name == "text" {
      let length = Double(text.count) * 6 + (Double(attributes["dx"] ?? "") ?? 0)
      return position("x", width) + (["end": 0, "middle": length / 2][attributes["text-anchor"]] ?? length)
    }
    guard let length = attributes["width"] else { return position("x", width) }
    return length == "100%"
      ? Double(width) : position("x", width) + position("width", width) - (length.hasSuffix("%") ? 48 : 0)
  }
}
