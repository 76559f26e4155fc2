import ProcedureKit

extension RunReport {
  private static let listLimit = 100

  /// The report as a self-contained HTML page, which includes the timeline, but no scripts or external resources.
  ///
  /// Each list shows up to a hundred rows, followed by the number of rows that are left out.
  public var html: String {
    var body = "<h1>\(MarkupText.escape(recording.summary))</h1>\n"
    if let gaps = recording.gaps { body += "<p class=\"gaps\">\(MarkupText.escape(gaps))</p>\n" }
    if !failures.isEmpty {
      body += section("Failed", ["procedure", "why"], failures) { [nameCell($0), cell(explanation(of: $0))] }
    }
    body += "<h2>Timeline</h2>\n<div class=\"picture\">\(Timeline(recording).svg)</div>\n"
    body += section(
      "Critical path, \(criticalPath.duration.short)", ["procedure", "duration", "executing", "share", "waits"],
      criticalPath.rows
    ) { row in
      [cell(row.name)] + [row.duration.short, row.times.executing.short, share(row.duration)].map(number)
        + [cell(explanation(of: row) ?? "")]
    }
    body += section("Time", ["procedure", "executing", "runs", "longest", "waiting", "share", "slowest"], groups) {
      group in
      let numbers = [
        group.executing.short, "\(group.count)", group.longest.short, group.waiting.short, share(group.executing),
      ]
      let hasSlowest = group.count > 1 && !group.slowest.hasBytes(of: group.name)
      return [cell(group.name)] + numbers.map(number) + [cell(hasSlowest ? group.slowest : "")]
    }
    if !others.isEmpty {
      body += section("Not fully executed", ["procedure", "reason"], others) {
        [nameCell($0), cell(explanation(of: $0))]
      }
    }
    body += section("Executed again", ["procedure", "reason"], executedAgain) {
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
      </style>
      </head>
      <body>
      \(body)</body>
      </html>

      """
  }

  private func section<Element>(
    _ title: String, _ columns: [String], _ elements: [Element], _ cells: (Element) -> [String]
  ) -> String {
    guard !elements.isEmpty else { return "" }
    var section = "<h2>\(MarkupText.escape(title))</h2>\n<table>\n<thead><tr>"
    for column in columns { section += "<th>\(column)</th>" }
    section += "</tr></thead>\n<tbody>\n"
    for element in elements.prefix(Self.listLimit) { section += "<tr>\(cells(element).joined())</tr>\n" }
    section += "</tbody>\n</table>\n"
    if elements.count > Self.listLimit { section += "<p>… and \(elements.count - Self.listLimit) more</p>\n" }
    return section
  }

  private func nameCell(_ run: RunRecord) -> String { cell(run.name.shortened(to: 200) + " \(run.id)") }

  private func cell(_ text: String) -> String { "<td>\(MarkupText.escape(text.shortened(to: 500)))</td>" }

  private func number(_ text: String) -> String { "<td class=\"number\">\(MarkupText.escape(text))</td>" }

  private static let style = """
    body { font: 15px/1.45 ui-sans-serif, system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; \
    max-width: 1240px; padding: 0 1rem; }
    h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #e3e5ea; \
    vertical-align: top; overflow-wrap: anywhere; }
    th { font-weight: 600; color: #555; overflow-wrap: normal; } th:not(:first-child) { white-space: nowrap; }
    td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
    .picture { overflow-x: auto; } .gaps { color: #a34700; }
    @media (prefers-color-scheme: dark) {
    body { color: #e6e8ec; background: #15181d; } th { color: #a7adb8; } th, td { border-color: #343a44; }
    .gaps { color: #ff9d5c; }
    }
    """
}
