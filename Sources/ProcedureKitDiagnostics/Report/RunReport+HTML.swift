import ProcedureKit

extension RunReport {
  /// The maximum number of rows in a table.
  private static let listLimit = 100

  /// The report as a self-contained HTML page, which includes the timeline, but no scripts or external resources. It fits any window or
  /// sheet of paper that is at least 400 points wide.
  ///
  /// Each list shows only its first rows until it is expanded. It then shows up to a hundred rows, followed by the number of rows that are
  /// left out.
  public var html: String {
    let drawing = TimelineDrawing(Timeline(recording), path: criticalPath, hasTitle: false)
    var body = "<h1>\(MarkupText.escape(recording.summary))</h1>\n"
    if let gaps = recording.gaps { body += "<p class=\"gaps\">\(MarkupText.escape(gaps))</p>\n" }
    body += table("Where the time went", ["procedure", "duration", "share"], longest) { part in
      let bar =
        "<rect class=\"\(drawing.colour(of: part.slowest))\" width=\"\(share(part.duration))\" height=\"8\" rx=\"2\"/>"
      let runs = part.count > 1 ? note("\(part.count) runs, slowest: \(part.slowest.name.shortened(to: 200))") : ""
      return [
        cell(part.name, runs + "<svg class=\"timeline part\">\(bar)</svg>"), number(part.duration.short),
        number(share(part.duration)),
      ]
    }
    body += table("Failed", ["procedure", "reason"], failures, shown: 5) { [nameCell($0), cell(explanation(of: $0))] }
    let advice = advice
    if !advice.isEmpty {
      body += "<h2>What to do</h2>\n<ul>\n"
      for sentence in advice { body += "<li>\(MarkupText.escape(sentence))</li>\n" }
      body += "</ul>\n"
    }
    body += "<h2>Timeline</h2>\n\(drawing.flexibleSVG)<p class=\"legend\">\n"
    for (symbol, name) in drawing.legend {
      body +=
        "<span><svg class=\"timeline\" width=\"16\" height=\"12\">\(symbol)</svg> \(MarkupText.escape(name))</span>\n"
    }
    body += "</p>\n"
    body += table(
      "Critical path, \(criticalPath.duration.short)", ["procedure", "duration", "executing", "share"],
      criticalPath.rows
    ) { row in
      [cell(row.name, explanation(of: row).map(note) ?? "")]
        + [row.duration.short, row.times.executing.short, share(row.duration)].map { number($0) }
    }
    body += table("Time", ["procedure", "executing", "runs", "-longest", "-waiting", "share"], groups) { group in
      let hasSlowest = group.count > 1 && !group.slowest.hasBytes(of: group.name)
      return [
        cell(group.name, hasSlowest ? note("slowest: \(group.slowest)") : ""), number(group.executing.short),
        number("\(group.count)"), number(group.longest.short, isMinor: true),
        number(group.waiting.short, isMinor: true),
        number(share(group.executing)),
      ]
    }
    body += table("Not fully executed", ["procedure", "reason"], others) {
      [nameCell($0), cell(explanation(of: $0))]
    }
    body += table("Executed again", ["procedure", "reason"], executedAgain) {
      [nameCell($0), cell(Self.cause(of: $0))]
    }
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8"/>
      <meta name="viewport" content="width=device-width, initial-scale=1"/>
      <title>\(MarkupText.escape(recording.summary))</title>
      <style>
      \(Self.style)
      \(TimelineDrawing.pageStyle)
      </style>
      </head>
      <body>
      \(body)</body>
      </html>

      """
  }

  /// Returns a heading and a table, or an empty string if there are no elements. On a narrow page, a column whose name begins with "-" is
  /// hidden. If the table has two columns, the cells of each row are stacked.
  private func table<Element>(
    _ title: String, _ columns: [String], _ elements: [Element], shown: Int = 10, _ cells: (Element) -> [String]
  ) -> String {
    guard !elements.isEmpty else { return "" }
    func rows(_ elements: some Sequence<Element>) -> String {
      var table = "<table\(columns.count == 2 ? " class=\"words\"" : "")>\n<thead><tr>"
      for column in columns {
        let style = column.hasPrefix("-") ? " class=\"minor\"" : ""
        table += "<th\(style)>\(column.drop { $0 == "-" })</th>"
      }
      table += "</tr></thead>\n<tbody>\n"
      for element in elements { table += "<tr>\(cells(element).joined())</tr>\n" }
      return table + "</tbody>\n</table>\n"
    }
    let more = elements.prefix(Self.listLimit).dropFirst(shown)
    var section = "<h2>\(MarkupText.escape(title))</h2>\n" + rows(elements.prefix(shown))
    guard !more.isEmpty else { return section }
    section += "<details><summary>\(more.count) more</summary>\n" + rows(more)
    if elements.count > Self.listLimit { section += "<p>… and \(elements.count - Self.listLimit) more</p>\n" }
    return section + "</details>\n"
  }

  private func nameCell(_ run: RunRecord) -> String { cell(run.name.shortened(to: 200) + " \(run.id)") }

  private func cell(_ text: String, _ markup: String = "") -> String {
    "<td>\(MarkupText.escape(text.shortened(to: 500)))\(markup)</td>"
  }

  private func note(_ text: String) -> String { "<br/><small>\(MarkupText.escape(text.shortened(to: 500)))</small>" }

  private func number(_ text: String, isMinor: Bool = false) -> String {
    "<td class=\"number\(isMinor ? " minor" : "")\">\(MarkupText.escape(text))</td>"
  }

  private static let style = """
    body { font: 15px/1.45 ui-sans-serif, system-ui, sans-serif; color: #222; background: #fff; margin: 1.5rem auto; \
    max-width: 1240px; padding: 0 16px; }
    h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 1.75rem 0 0.5rem; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #e3e5ea; \
    vertical-align: top; overflow-wrap: anywhere; }
    th { font-weight: 600; color: #555; overflow-wrap: normal; }
    th:first-child, td:first-child { width: 40%; }
    td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
    small { display: inline-block; line-height: 1.3; } small, summary { color: #555; } ul { margin: 0; padding-left: 1.2rem; }
    svg.part { display: block; width: 100%; height: 8px; margin-top: 3px; }
    .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size: 12px; color: #555; } .gaps { color: #a34700; }
    @media (max-width: 640px) {
    .minor, .words thead { display: none; } .words td { display: block; } .words td:first-child { width: auto; border: 0; }
    }
    @media print {
    body { font-size: 9pt; margin: 0; padding: 0; } h2 { break-after: avoid; } tr, li, svg { break-inside: avoid; }
    svg { print-color-adjust: exact; } details::details-content { content-visibility: visible; height: auto; }
    }
    @media screen and (prefers-color-scheme: dark) {
    :root { color-scheme: dark; }
    body { color: #e6e8ec; background: #15181d; } th, small, summary, .legend { color: #a7adb8; }
    th, td { border-color: #343a44; } .gaps { color: #ff9d5c; }
    }
    """
}
