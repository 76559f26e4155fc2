import ProcedureKit

/// A picture of a recording. It contains a lane for each slot, which shows the executions in that slot from left to right.
///
/// ```swift
/// let timeline = Timeline(await recorder.finish())
/// try Data(timeline.svg.utf8).write(to: URL(filePath: "timeline.svg"))
/// ```
///
/// A strip before an execution shows how long the run waited while its lane was free, for example for a dependency, a condition, a
/// resource, or its next attempt. Colours show outcomes, and a failed run is also hatched and marked with ✕. The tooltip of each execution
/// shows the name, the times, and, for a failure, the reason.
public struct Timeline: Sendable {
  /// The runs to draw.
  public var recording: RunRecording
  /// The width in points, which is at least 400.
  public var width: Int

  /// The maximum number of drawn lanes.
  private static let laneLimit = 200
  private static let (top, laneHeight, barHeight, axisHeight, legendHeight) = (28, 26, 17, 22, 30)
  private static let labelWidth = 120
  /// The approximate width of a letter in a bar.
  private static let letterWidth = 6.6

  /// Creates a picture of a recording.
  ///
  /// - Parameters:
  ///   - recording: The runs.
  ///   - width: The width of the picture in points.
  public init(_ recording: RunRecording, width: Int = 1_200) {
    self.recording = recording
    self.width = max(width, 400)
  }

  /// The picture as SVG, in light or dark colours depending on the viewer's settings.
  ///
  /// - Complexity: O(n log n) for n executions.
  public var svg: String {
    let lanes = TimelineLanes(recording)
    let laneCount = min(lanes.names.count, Self.laneLimit)
    let bottom = Self.top + laneCount * Self.laneHeight
    let height = bottom + Self.axisHeight + Self.legendHeight
    var svg = """
      <svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 \(width) \(height)" width="\(width)" \
      height="\(height)" role="img" aria-label="Timeline of \(recording.countedRuns.count.counting("run"))">
      \(TimelineStyle.definitions)
      <rect class="ground" width="\(width)" height="\(height)"/>
      <text class="title" x="8" y="18">\(MarkupText.escape(title(hidden: lanes.names.count - laneCount)))</text>

      """
    drawLanes(lanes.names.prefix(laneCount), &svg)
    drawAxis(bottom: bottom, &svg)
    for bar in lanes.bars where bar.lane < laneCount { draw(bar, &svg) }
    drawLegend(y: bottom + Self.axisHeight + 8, &svg)
    return svg + "</svg>\n"
  }

  private func title(hidden: Int) -> String {
    var parts = [recording.summary]
    if hidden > 0 { parts.append("\(hidden) lanes are not shown") }
    if let gaps = recording.gaps { parts.append(gaps) }
    return parts.joined(separator: " · ")
  }

  private func x(_ time: Duration) -> Double {
    let all = max(recording.duration.inSeconds, 1e-9)
    return Double(Self.labelWidth) + Double(width - Self.labelWidth - 8) * min(max(time.inSeconds / all, 0), 1)
  }

  private func drawLanes(_ names: ArraySlice<String>, _ svg: inout String) {
    for (index, name) in names.enumerated() {
      let y = Self.top + index * Self.laneHeight
      if index % 2 == 0 {
        svg += "<rect class=\"lane\" x=\"0\" y=\"\(y)\" width=\"\(width)\" height=\"\(Self.laneHeight)\"/>\n"
      }
      guard !name.isEmpty else { continue }
      svg += "<text class=\"label\" x=\"8\" y=\"\(y + 14)\">\(MarkupText.escape(name))</text>\n"
    }
  }

  private func drawAxis(bottom: Int, _ svg: inout String) {
    for mark in TimelineAxis(recording.duration, count: 8).marks {
      let x = x(mark).rounded()
      let anchor = x > Double(width - 60) ? "end" : "middle"
      svg += """
        <line class="mark" x1="\(x)" y1="\(Self.top)" x2="\(x)" y2="\(bottom)"/>
        <text class="tick" text-anchor="\(anchor)" x="\(x)" y="\(bottom + 14)">\(MarkupText.escape(mark.short))</text>

        """
    }
  }

  private func draw(_ bar: TimelineLanes.Bar, _ svg: inout String) {
    let run = recording.runs[bar.run]
    let y = Self.top + bar.lane * Self.laneHeight + 2
    let (left, right) = (x(bar.begin), x(bar.end))
    let barWidth = max(right - left, 0.75)
    let isLast = bar.execution == run.executions.count - 1
    let style = TimelineStyle.name(of: isLast ? run.outcome : .failed)
    svg += "<g><title>\(MarkupText.escape(tooltip(run, bar)))</title>"
    let waitBegin = bar.execution == 0 ? run.begin : run.executions[bar.execution - 1].end ?? run.begin
    let wait = x(max(waitBegin, bar.free))
    if wait + 0.5 < left {
      svg += "<rect class=\"wait \(style)\" x=\"\(wait.short)\" y=\"\(y + Self.barHeight / 2 - 2)\" "
      svg += "width=\"\((left - wait).short)\" height=\"4\"/>"
    }
    svg += "<rect class=\"run \(style)\" x=\"\(left.short)\" y=\"\(y)\" width=\"\(barWidth.short)\" "
    svg += "height=\"\(Self.barHeight)\" rx=\"2\"/>"
    svg += name(of: run, x: left + 4, y: y, width: barWidth - 8) + "</g>\n"
  }

  /// Returns the name of a run for display in its bar. The name is in a nested picture, which cuts it off if it is too wide.
  private func name(of run: RunRecord, x: Double, y: Int, width: Double) -> String {
    let room = Int(width / Self.letterWidth)
    let name = TerminalText.line(TimelineStyle.sign(of: run.outcome) + run.name, columns: room).text
    // A few letters of a name would not be enough to identify it.
    guard !name.isEmpty, room >= 5 || !name.hasSuffix("…") else { return "" }
    return "<svg x=\"\(x.short)\" y=\"\(y)\" width=\"\(width.short)\" height=\"\(Self.barHeight)\">"
      + "<text class=\"name\" y=\"12\">\(MarkupText.escape(name))</text></svg>"
  }

  private func tooltip(_ run: RunRecord, _ bar: TimelineLanes.Bar) -> String {
    let execution = run.executions[bar.execution]
    var lines = [run.name.shortened(to: 200) + " \(run.id)"]
    if run.executions.count > 1 { lines.append("attempt \(execution.attempt) of \(run.executions.count)") }
    lines.append("executed \((bar.end - bar.begin).short), starting at \(bar.begin.short)")
    if bar.execution == 0 { lines.append("waited \((bar.begin - run.begin).short)") }
    lines.append(run.outcome?.rawValue ?? "still executing")
    if let reason = run.reason { lines.append(reason.shortened(to: 300)) }
    return lines.joined(separator: "\n")
  }

  private func drawLegend(y: Int, _ svg: inout String) {
    let outcomes = RunRecord.Outcome.allCases.filter { outcome in
      recording.runs.contains { $0.outcome == outcome && !$0.executions.isEmpty }
    }
    var x = Double(Self.labelWidth)
    func add(_ name: String, _ rect: String) {
      svg += rect + "<text class=\"tick\" x=\"\((x + 18).short)\" y=\"\(y + 10)\">\(name)</text>\n"
      x += 34 + Double(name.count) * Self.letterWidth
    }
    for outcome in outcomes {
      let style = TimelineStyle.name(of: outcome)
      add(
        TimelineStyle.sign(of: outcome) + outcome.rawValue,
        "<rect class=\"run \(style)\" x=\"\(x.short)\" y=\"\(y)\" width=\"14\" height=\"12\" rx=\"2\"/>")
    }
    add("waiting", "<rect class=\"wait finished\" x=\"\(x.short)\" y=\"\(y + 4)\" width=\"14\" height=\"4\"/>")
  }
}

extension Double {
  /// The number with two decimal places.
  fileprivate var short: String { String((self * 100).rounded() / 100) }
}
