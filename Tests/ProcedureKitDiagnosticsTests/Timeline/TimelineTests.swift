import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitDiagnostics

@Suite struct TimelineTests {
  @Test("A timeline is well-formed, and everything is inside the picture", arguments: [0, 1, 30, 1_000])
  func geometry(count: Int) throws {
    let recording = RunRecording.random(count: count, slots: 4, seed: UInt64(count))
    let picture = try Markup(Timeline(recording).svg)
    let svg = try #require(picture.all("svg").first)
    let (width, height) = (svg.number("width"), svg.number("height"))
    for element in picture.all("rect") where element.attributes["x"] != nil {
      #expect(element.number("x") >= 0 && element.number("x") + element.number("width") <= width + 1)
      #expect(element.number("y") + element.number("height") <= height)
    }
    // Each execution is a bar, and the legend has a bar for each outcome.
    let executionCount = recording.runs.reduce(0) { $0 + $1.executions.count }
    #expect(picture.all("g").count == executionCount)
    #expect(picture.all("title").count == executionCount)
  }

  @Test("Executions in one lane do not overlap, even if slots are released")
  func lanes() {
    var recording = RunRecording.random(count: 300, slots: 3, seed: 7)
    for index in recording.runs.indices where index % 5 == 0 { recording.runs[index].executions[0].slot = 0 }
    let lanes = TimelineLanes(recording)
    for (_, bars) in Dictionary(grouping: lanes.bars, by: \.lane) {
      let sorted = bars.sorted { ($0.begin, $0.end) < ($1.begin, $1.end) }
      for (former, next) in zip(sorted, sorted.dropFirst()) { #expect(former.end <= next.begin) }
    }
    #expect(lanes.bars.count == recording.runs.reduce(0) { $0 + $1.executions.count })
  }

  @Test("The name of a lane contains the slot, however long the name of the queue is")
  func labels() {
    var recording = RunRecording.random(count: 9, slots: 3, seed: 1)
    for index in recording.runs.indices { recording.runs[index].queue = "a queue with a long name" }
    #expect(TimelineLanes(recording).names == (0..<3).map { "a queue with a… \($0)" })
  }

  @Test("A text fits into its bar, or is left out")
  func texts() throws {
    let recording = RunRecording.random(
      count: 200, slots: 2, seed: 3, names: ["a rather long name of a procedure", "x"])
    let picture = try Markup(Timeline(recording).svg)
    for group in zip(picture.elements, picture.elements.dropFirst()) where group.1.attributes["class"] == "name" {
      #expect(Double(group.1.text.count) * 6.6 <= group.0.number("width"))
    }
  }

  @Test("Names with any text do not break a timeline or a page", arguments: hostileNames.indices)
  func names(_ index: Int) throws {
    var recording = RunRecording.random(count: 8, slots: 2, seed: 1, names: [hostileNames[index]])
    for index in recording.runs.indices { recording.runs[index].queue = hostileNames[index % hostileNames.count] }
    let svg = Timeline(recording).svg
    #expect(try Markup(svg).all("g").isEmpty == false)
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

  @Test("A timeline can show ten thousand runs")
  func many() throws {
    let recording = RunRecording.random(count: 10_000, slots: 8, seed: 5)
    #expect(try Markup(Timeline(recording).svg).all("g").count >= 10_000)
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
