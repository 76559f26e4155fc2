import ProcedureKit

/// A drawing of a timeline.
///
/// Horizontal positions are percentages of the width. A page that is at least 400 points wide can therefore show the picture without
/// scaling the text. The style of a label determines the page widths at which the label is shown.
struct TimelineDrawing {
  /// The maximum number of drawn lanes.
  private static let laneLimit = 200
  /// The maximum number of lanes that are drawn tall enough for names.
  private static let highLaneLimit = 40
  /// The maximum number of lines from a bar to its dependencies.
  private static let linkLimit = 50
  /// The page widths below which labels can be hidden, in points.
  private static let labelWidths = [600, 800, 1_000, 1_200]
  /// The width of the picture on a page that is 400 points wide.
  private static let narrowest = 368.0
  /// The space for the names of the lanes.
  private static let gutter = 48
  /// The fraction of the width that the time axis occupies. It leaves room for the gutter even in the narrowest picture.
  private static let axisPart = 0.85
  private static let (lineHeight, queueHeight, axisHeight) = (16, 20, 24)

  private let recording: RunRecording
  private let width: Int
  private let lanes: TimelineLanes
  private let colours: TimelineColours
  private let periods: TimelinePeriods
  /// The vertical positions of the drawn lanes, and the height of the picture up to the time axis.
  private let (tops, bottom): ([Int], Int)
  private let isSmall: Bool
  private let titles: [String]

  /// Creates a drawing of a timeline.
  ///
  /// - Parameters:
  ///   - timeline: The timeline to draw.
  ///   - path: The critical path of the recording.
  ///   - hasTitle: Whether the picture has a title. Pass `false` for a picture on a page whose own title shows the same text.
  init(_ timeline: Timeline, path: CriticalPath, hasTitle: Bool = true) {
    (recording, width) = (timeline.recording, timeline.width)
    lanes = TimelineLanes(recording)
    colours = TimelineColours(recording.runs)
    periods = TimelinePeriods(recording, path: path)
    isSmall = lanes.lanes.count > Self.highLaneLimit
    let hidden = lanes.lanes.count - Self.laneLimit
    let columns = Int(Double(width - 16) / 6.4)
    let note = hidden > 0 ? hidden.counting("lane is", "lanes are") + " not shown." : nil
    let parts = (hasTitle ? [recording.summary, recording.gaps] : []) + [note]
    titles = parts.compactMap(\.self).flatMap { TerminalText.wrapped($0, columns: columns) }
    var (tops, y) = ([Int](), titles.count * Self.lineHeight + 8)
    for lane in lanes.lanes.prefix(Self.laneLimit) {
      if lane.isFirst { y += Self.queueHeight }
      tops.append(y)
      y += isSmall ? 12 : 26
    }
    (self.tops, bottom) = (tops, y)
  }

  private var laneHeight: Int { isSmall ? 12 : 26 }
  private var barHeight: Int { isSmall ? 9 : 18 }

  // MARK: Pictures

  /// A picture that has the width of the timeline. It is scaled down if there is less room.
  var svg: String {
    let (legend, legendHeight) = placedLegend
    let height = bottom + Self.axisHeight + legendHeight
    return element(
      "timeline scaled", "viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\"", content + legend)
  }

  /// A picture that has no legend and is as wide as the page that contains it.
  var flexibleSVG: String {
    element("timeline", "width=\"100%\" height=\"\(bottom + Self.axisHeight)\"", content)
  }

  /// The styles for a page that contains a ``flexibleSVG``. On a narrow page, they hide the labels that do not fit. They also make outlines
  /// thinner.
  static var pageStyle: String {
    let rules = labelWidths.map { "@media (max-width: \($0 + 39)px) { .timeline .from\($0) { display: none; } }" }
    return rules.joined(separator: "\n") + "\n@media (max-width: 639px) { .timeline .critical { stroke-width: 1; } }"
  }

  private func element(_ style: String, _ size: String, _ content: String) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" class="\(style)\(isSmall ? " small" : "")" \(size) role="img" \
    aria-label="Timeline of \(recording.countedRuns.count.counting("run"))">
    \(TimelineStyle.definitions)
    \(content)</svg>

    """
  }

  private var content: String {
    var svg = "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n"
    for (index, title) in titles.enumerated() {
      let style = index == 0 ? "title" : "tick"
      svg +=
        "<text class=\"\(style)\" x=\"8\" y=\"\(18 + index * Self.lineHeight)\">\(MarkupText.escape(title))</text>\n"
    }
    for (lane, top) in zip(lanes.lanes, tops) { draw(lane, top, &svg) }
    svg += "<svg x=\"\(Self.gutter)\" width=\"100%\" overflow=\"visible\">\n"
    drawAxis(&svg)
    drawBars(&svg)
    return svg + "</svg>\n"
  }

  /// Returns the name of the style that defines the colour of a run.
  func colour(of run: RunRecord) -> String { colours.style(of: run) }

  /// Returns the position of a time as a percentage of the width, starting at the gutter.
  private func x(_ time: Duration) -> Double {
    let all = max(recording.duration.inSeconds, 1e-9)
    return 100 * Self.axisPart * min(max(time.inSeconds / all, 0), 1)
  }

  /// Returns the horizontal position and the width of a period as attributes of a rectangle.
  private func span(_ period: Range<Duration>, minimum: Double = 0) -> String {
    let (left, right) = (x(period.lowerBound), x(period.upperBound))
    return "x=\"\(left.short)%\" width=\"\(max(right - left, minimum).short)%\""
  }

  private func draw(_ lane: TimelineLanes.Lane, _ top: Int, _ svg: inout String) {
    if lane.isFirst {
      let name = TerminalText.line(lane.queue, columns: 50).text
      svg += "<text class=\"queue\" x=\"8\" y=\"\(top - 6)\">\(MarkupText.escape(name))</text>\n"
    }
    let baseline = top + barHeight / 2 + (isSmall ? 4 : 5)
    svg += """
      <rect class="lane" x="0" y="\(top)" width="100%" height="\(laneHeight - 2)"/>
      <text class="label" x="8" y="\(baseline)">\(lane.label)</text>

      """
  }

  private func drawAxis(_ svg: inout String) {
    guard let first = tops.first else { return }
    for (index, mark) in TimelineAxis(recording.duration, count: width < 700 ? 4 : 8).marks.enumerated() {
      let x = x(mark)
      let style = index % 2 == 0 ? "tick" : "tick from800"
      let anchor = x > 80 ? "end" : index == 0 ? "start" : "middle"
      svg += """
        <line class="mark" x1="\(x.short)%" y1="\(first)" x2="\(x.short)%" y2="\(bottom)"/>
        <text class="\(style)" text-anchor="\(anchor)" x="\(x.short)%" y="\(bottom + 14)">\(MarkupText.escape(mark.short))</text>

        """
    }
  }

  // MARK: Bars

  private func drawBars(_ svg: inout String) {
    var next: [Int: TimelineLanes.Bar] = [:]
    var followers: [TimelineLanes.Bar?] = []
    for bar in lanes.bars.reversed() { followers.append(next.updateValue(bar, forKey: bar.lane)) }
    var latest: [ProcedureID: TimelineLanes.Bar] = [:]
    var outlines: [Int: [Range<Duration>]] = [:]
    for (bar, follower) in zip(lanes.bars, followers.reversed()) where bar.lane < tops.count {
      let run = recording.runs[bar.run]
      let critical = periods.critical(in: run.id, bar.begin..<bar.end)
      draw(bar, until: follower?.waitBegin, critical.duration, run.dependencies.compactMap { latest[$0] }, &svg)
      outlines[bar.lane, default: []] += critical.filter { isVisible($0, in: bar) }
      latest[run.id] = bar
    }
    for (lane, periods) in outlines.sorted(by: { $0.key < $1.key }) {
      // The outlines of narrow bars would cover the bars, so neighbours share an outline.
      for period in merged(periods, gap: 2, limit: 12) {
        svg += "<rect class=\"critical\" \(span(period)) y=\"\(tops[lane] + 2)\" height=\"\(barHeight)\" rx=\"2\"/>\n"
      }
    }
  }

  /// Returns whether a part of a bar is wide enough for an outline. For example, the part of a graph's bar between two nodes can be too
  /// narrow.
  private func isVisible(_ period: Range<Duration>, in bar: TimelineLanes.Bar) -> Bool {
    let length = period.upperBound - period.lowerBound
    return points(period) >= 4 || length * 10 >= (bar.end - bar.begin) * 9
  }

  /// Combines adjacent periods if the gap between them is narrower than `gap` points and one of them is narrower than `limit` points.
  private func merged(_ periods: [Range<Duration>], gap: Double, limit: Double) -> [Range<Duration>] {
    periods.reduce(into: []) { merged, next in
      if let last = merged.last, points(last.upperBound..<max(next.lowerBound, last.upperBound)) < gap,
        min(points(last), points(next)) < limit
      {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
      } else {
        merged.append(next)
      }
    }
  }

  /// Returns the length of a period in points, at the picture's full width.
  private func points(_ period: Range<Duration>) -> Double {
    (x(period.upperBound) - x(period.lowerBound)) / 100 * Double(width)
  }

  /// Draws a bar.
  ///
  /// - Parameters:
  ///   - bar: The bar.
  ///   - limit: The time up to which there is room for a name; `nil` if there is room up to the edge of the picture.
  ///   - critical: How long the bar was on the critical path.
  ///   - dependencies: The bars of the run's dependencies.
  ///   - svg: The picture.
  private func draw(
    _ bar: TimelineLanes.Bar, until limit: Duration?, _ critical: Duration, _ dependencies: [TimelineLanes.Bar],
    _ svg: inout String
  ) {
    let run = recording.runs[bar.run]
    let outcome = outcome(of: bar)
    let y = tops[bar.lane] + 2
    let frame = "y=\"\(y)\" height=\"\(barHeight)\""
    let nested = periods.nested(in: run.id, bar.begin..<bar.end)
    let place = span(bar.begin..<bar.end, minimum: 0.1)
    svg += "<g class=\"bar \(colours.style(of: run)) \(TimelineStyle.name(of: outcome))\">"
    svg += "<title>\(MarkupText.escape(tooltip(bar, nested: nested.duration, critical: critical)))</title>"
    if points(bar.waitBegin..<bar.begin) > 0.5 {
      svg += "<rect class=\"wait\" \(span(bar.waitBegin..<bar.begin)) y=\"\(y + barHeight / 2 - 2)\" height=\"4\"/>"
    }
    svg += "<rect class=\"run\" \(place) \(frame) rx=\"2\"/>"
    for period in merged(nested, gap: 0.5, limit: .infinity) where points(period) > 0.5 {
      svg += "<rect class=\"nested\" \(span(period)) \(frame)/>"
    }
    if let pattern = TimelineStyle.pattern(of: outcome) {
      svg += "<rect fill=\"url(#\(pattern))\" \(place) \(frame) rx=\"2\" pointer-events=\"none\"/>"
    }
    if outcome == .failed {
      svg += "<rect class=\"end\" \(place) y=\"\(y + barHeight - 3)\" height=\"3\"/>"
    }
    if !isSmall { svg += name(of: run, outcome, bar, until: limit, nested) }
    for other in dependencies.prefix(Self.linkLimit) {
      let top = tops[other.lane] + 2
      svg +=
        "<rect class=\"link\" \(span(other.begin..<other.end, minimum: 0.1)) y=\"\(top)\" height=\"\(barHeight)\"/>"
      svg += "<line class=\"link\" x1=\"\(x(other.end).short)%\" y1=\"\(top + barHeight / 2)\" "
      svg += "x2=\"\(x(bar.begin).short)%\" y2=\"\(y + barHeight / 2)\"/>"
    }
    svg += "</g>\n"
  }

  /// Returns the outcome of an execution. Every execution except the last was followed by a retry or a repetition.
  private func outcome(of bar: TimelineLanes.Bar) -> RunRecord.Outcome? {
    let run = recording.runs[bar.run]
    if bar.execution == run.executions.count - 1 { return run.outcome }
    return run.executions[bar.execution].isRetried ? .failed : .finished
  }

  /// Returns the text element for the name of a run, inside its bar or next to it. Returns an empty string if there is not enough room.
  private func name(
    of run: RunRecord, _ outcome: RunRecord.Outcome?, _ bar: TimelineLanes.Bar, until limit: Duration?,
    _ nested: [Range<Duration>]
  ) -> String {
    let (name, columns) = TerminalText.line(TimelineStyle.sign(of: outcome) + run.name, columns: 48)
    guard !name.isEmpty else { return "" }
    // Capital letters are wider than others.
    let needed = Double(columns) * 6.4 + Double(name.count { $0.isUppercase || $0 == "m" || $0 == "w" }) * 2 + 8
    let (left, right) = (x(bar.begin) / 100, x(bar.end) / 100)
    // The smallest width of a picture in which the name fits inside the bar, and the smallest width in which it fits next to the bar.
    let inside = needed / (right - left)
    let beside = limit.map { needed / (x($0) / 100 - right) } ?? (needed + Double(Self.gutter)) / (1 - right)
    let isInside = inside <= Double(width)
    let minimum = isInside ? inside : beside
    guard minimum > 0, minimum <= Double(width) else { return "" }
    var style = isInside ? "name" : "name beside"
    // A name needs a border unless the part of the bar behind it has a plain colour.
    let end = bar.begin + recording.duration * (needed / Double(width) / Self.axisPart)
    let isPlain = TimelineStyle.pattern(of: outcome) == nil && !nested.contains { $0.overlaps(bar.begin..<end) }
    if isInside && !isPlain { style += " across" }
    if minimum > Self.narrowest, let from = Self.labelWidths.first(where: { Double($0) >= minimum }) {
      style += " from\(from)"
    }
    return
      "<text class=\"\(style)\" x=\"\(((isInside ? left : right) * 100).short)%\" dx=\"4\" y=\"\(tops[bar.lane] + 15)\">"
      + MarkupText.escape(name) + "</text>"
  }

  private func tooltip(_ bar: TimelineLanes.Bar, nested: Duration, critical: Duration) -> String {
    let run = recording.runs[bar.run]
    let execution = run.executions[bar.execution]
    var lines = [run.name.shortened(to: 200) + " \(run.id)"]
    if run.executions.count > 1 { lines.append("attempt \(execution.attempt) of \(run.executions.count)") }
    lines.append("executed for \((bar.end - bar.begin).short), from \(bar.begin.short) to \(bar.end.short)")
    if nested > .zero { lines.append("including \(nested.short) spent waiting for nested work") }
    if bar.execution == 0, bar.begin > run.begin {
      lines.append("after waiting for \((bar.begin - run.begin).short)")
    }
    if critical > .zero { lines.append("on the critical path for \(critical.short)") }
    lines.append(run.outcome?.rawValue ?? "not ended")
    if let reason = run.reason { lines.append(reason.shortened(to: 300)) }
    return lines.joined(separator: "\n")
  }

  // MARK: Legend

  /// The symbols that occur in the picture, each with its name. A symbol is 16 points wide and 12 points high.
  var legend: [(symbol: String, name: String)] {
    func bar(_ style: String, _ part: String = "") -> String {
      "<g class=\"\(style)\"><rect class=\"run\" width=\"16\" height=\"12\" rx=\"2\"/>\(part)</g>"
    }
    var legend = colours.entries.map { (symbol: bar($0.style), name: TerminalText.line($0.name, columns: 30).text) }
    guard let style = colours.entries.first?.style else { return [] }
    if colours.hasOthers { legend.append((bar("other"), "others")) }
    legend.append(("<rect class=\"critical\" x=\"1\" y=\"1\" width=\"14\" height=\"10\" rx=\"2\"/>", "critical path"))
    legend.append(("<rect class=\"\(style) wait\" y=\"4\" width=\"16\" height=\"4\"/>", "waiting to start"))
    if periods.hasNested {
      legend.append((bar(style, "<rect class=\"nested\" width=\"16\" height=\"12\"/>"), "waiting for nested work"))
    }
    let outcomes = Set(lanes.bars.map(outcome))
    for outcome in RunRecord.Outcome.allCases.map(Optional.some) + [nil] {
      guard outcome != .finished, outcomes.contains(outcome) else { continue }
      let pattern = TimelineStyle.pattern(of: outcome).map { "<rect fill=\"url(#\($0))\" width=\"16\" height=\"12\"/>" }
      let end = outcome == .failed ? "<rect class=\"end\" y=\"9\" width=\"16\" height=\"3\"/>" : ""
      legend.append(
        (
          bar("\(style) \(TimelineStyle.name(of: outcome))", (pattern ?? "") + end),
          TimelineStyle.sign(of: outcome) + (outcome?.rawValue ?? "not ended")
        ))
    }
    return legend
  }

  private var placedLegend: (svg: String, height: Int) {
    var (svg, x, y) = ("", 8, bottom + Self.axisHeight + 4)
    for (symbol, name) in legend {
      let room = 40 + Int(Double(TerminalText.line(name, columns: 100).columns) * 6.4)
      if x + room > width { (x, y) = (8, y + 20) }
      svg += "<svg x=\"\(x)\" y=\"\(y)\" width=\"\(room)\" height=\"16\">\(symbol)"
      svg += "<text class=\"tick\" x=\"22\" y=\"10\">\(MarkupText.escape(name))</text></svg>\n"
      x += room
    }
    return (svg, y + 20 - bottom - Self.axisHeight)
  }
}

extension Double {
  /// The number, rounded to three decimal places.
  fileprivate var short: String { String((self * 1_000).rounded() / 1_000) }
}
