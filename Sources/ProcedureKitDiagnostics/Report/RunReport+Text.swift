import ProcedureKit

extension RunReport {
  private static let width = 80
  private static let listLimit = 10

  /// The report as text for a terminal that is 80 columns wide. A line exceeds this width only if a single word does.
  ///
  /// Each list shows up to ten entries, followed by the number of entries that are left out.
  public var text: String {
    var lines = [recording.summary]
    if let gaps = recording.gaps { lines.append(gaps) }
    let (longest, advice) = (longest, advice)
    if !longest.isEmpty {
      lines += ["", Self.row(["duration", "share"], of: "Where the time went")]
      lines += longest.map { part in
        let count = part.count > 1 ? " (\(part.count) runs)" : ""
        return Self.row([part.duration.short, share(part.duration)], of: "  " + part.name + count)
      }
    }
    if !failures.isEmpty {
      lines += ["", "Failed"] + Self.list(failures) { Self.paragraph($0.name, explanation(of: $0)) }
    }
    if !advice.isEmpty {
      lines += ["", "What to do"] + advice.map { Self.item("- " + $0) }
    }
    if !others.isEmpty {
      lines += ["", "Not fully executed"] + Self.list(others) { Self.paragraph($0.name, explanation(of: $0)) }
    }
    if !executedAgain.isEmpty {
      lines += ["", "Executed again"] + Self.list(executedAgain) { Self.paragraph($0.name, Self.cause(of: $0)) }
    }
    if !groups.isEmpty {
      lines += ["", Self.row(["executing", "runs", "longest", "waiting", "share"], of: "Time")]
      lines += Self.list(groups) { group in
        let row = Self.row(
          [
            group.executing.short, "\(group.count)", group.longest.short, group.waiting.short, share(group.executing),
          ], of: "  " + group.name)
        // The elements may have different names.
        guard group.count > 1, !group.slowest.hasBytes(of: group.name) else { return row }
        return row + "\n    " + TerminalText.line("slowest: \(group.slowest)", columns: Self.width - 4).text
      }
    }
    lines += pathLines
    return lines.joined(separator: "\n") + "\n"
  }

  /// The rows of the critical path with the longest durations, in chronological order. Each row is followed by a line that explains its
  /// waits.
  private var pathLines: [String] {
    let rows = criticalPath.rows
    guard !rows.isEmpty else { return [] }
    let title = "Critical path, \(criticalPath.duration.short)"
    var lines = ["", Self.row(["duration", "executing", "share"], of: title)]
    let longest = rows.indices.sorted { (rows[$1].duration, $0) < (rows[$0].duration, $1) }.prefix(Self.listLimit)
      .sorted()
    for row in longest.map({ rows[$0] }) {
      lines.append(Self.row([row.duration.short, row.times.executing.short, share(row.duration)], of: "  " + row.name))
      if let explanation = explanation(of: row) {
        lines.append("    " + TerminalText.line(explanation, columns: Self.width - 4).text)
      }
    }
    if rows.count > longest.count {
      let rest = criticalPath.duration - longest.reduce(.zero) { $0 + rows[$1].duration }
      lines.append("  … and \(rows.count - longest.count) more, \(rest.short)")
    }
    return lines
  }

  static func cause(of run: RunRecord) -> String { run.executionCause.map { "\($0)".shortened(to: 400) } ?? "" }

  private static func list<Element>(_ elements: [Element], _ line: (Element) -> String) -> [String] {
    let shown = elements.prefix(listLimit).map(line)
    return elements.count > listLimit ? shown + ["  … and \(elements.count - listLimit) more"] : shown
  }

  /// Returns a name and its explanation, with lines broken between words.
  private static func paragraph(_ name: String, _ explanation: String) -> String {
    item(TerminalText.line(name, columns: 32).text + ": " + explanation)
  }

  /// Returns the text, indented, with lines broken between words.
  private static func item(_ text: String) -> String {
    "  " + TerminalText.wrapped(text, columns: width - 4).joined(separator: "\n    ")
  }

  /// Returns a table row that consists of a name and right-aligned columns.
  private static func row(_ columns: [String], of name: String) -> String {
    let cells = columns.map { padded($0, to: columns.count > 3 ? 10 : 12) }.joined()
    let room = width - cells.count
    let (shown, width) = TerminalText.line(name, columns: room - 1)
    return shown + String(repeating: " ", count: room - width) + cells
  }

  private static func padded(_ text: String, to width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 1)) + text
  }
}
