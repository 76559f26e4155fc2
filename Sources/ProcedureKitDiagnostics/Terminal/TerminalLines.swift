import ProcedureKit

/// A formatter that converts a status to lines of text.
struct TerminalLines {
  let isLive: Bool
  let usesColor: Bool
  let showsFailures: Bool

  private static let lineLimit = 500
  private static let reasonLines = 20

  /// Returns the lines that report the end of a run, or `nil` if the end is not reported. Failures are reported if `showsFailures` is
  /// `true`. Finished runs are reported only if there is no live line.
  func lines(for ending: TerminalStatus.Ending, reason: String?) -> String? {
    let head = number(ending.number, of: ending.total) + " " + line(ending.name)
    switch ending.outcome {
    case .finished: return isLive ? nil : head + "\n"
    case .failed where !showsFailures: return nil
    case .failed: return head + ": " + red("failed") + "\n" + (reason.map(indented) ?? "")
    case .reused, .skipped, .ignored, .cancelled: return nil
    }
  }

  /// Returns the lines of the given text, omitting characters that could disrupt the terminal.
  func printed(_ text: some StringProtocol) -> String {
    text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line($0, limit: 100_000) + "\n" }.joined()
  }

  /// Returns the live line, for example `[12/40] 3 running, 1 failed: link 45%, compile a.c`.
  func status(_ status: TerminalStatus, columns limit: Int) -> String {
    guard status.total > 0, limit > 0 else { return "" }
    let failed = status.counts[.failed, default: 0]
    var parts = status.executing > 0 ? ["\(status.executing) running"] : []
    if failed > 0 { parts.append("\(failed) failed") }
    var head = number(status.finished, of: status.total)
    if !parts.isEmpty { head += " " + parts.joined(separator: ", ") }
    var (text, columns) = TerminalText.line(head, columns: limit)
    var separator = ": "
    for (name, percent) in status.firstExecuting(limit / 2) {
      let suffix = percent.map { " \($0)%" } ?? ""
      let room = limit - columns - suffix.count
      // A name that is cut off after a few letters would not identify the run.
      guard room > separator.count + 3 else { break }
      let (part, width) = TerminalText.line(separator + name, columns: room)
      text += part + suffix
      columns += width + suffix.count
      separator = ", "
    }
    return text
  }

  /// Returns the summary, for example `37 finished, 1 failed, 2 skipped in 3.2 s`.
  func summary(_ status: TerminalStatus, after duration: Duration, lostTexts: Int) -> String {
    var parts = RunRecord.Outcome.allCases.compactMap { outcome in
      status.counts[outcome].map { "\($0) \(outcome == .failed ? red(outcome.rawValue) : outcome.rawValue)" }
    }
    let open = status.total - status.finished
    if open > 0 { parts.append("\(open) not ended") }
    guard !parts.isEmpty else { return "" }
    var lost = ""
    if status.lost > 0 {
      lost += "; \(status.lost.counting("event was", "events were")) lost, so the counts are too low"
    }
    if lostTexts > 0 { lost += "; \(lostTexts.counting("printed message was", "printed messages were")) lost" }
    return parts.joined(separator: ", ") + " in \(duration.short)\(lost)\n"
  }

  private func number(_ number: Int, of total: Int) -> String {
    let (number, total) = ("\(number)", "\(total)")
    return "[" + String(repeating: " ", count: max(total.count - number.count, 0)) + number + "/" + total + "]"
  }

  private func line(_ text: some StringProtocol, limit: Int = Self.lineLimit) -> String {
    TerminalText.line(text, columns: limit).text
  }

  private func indented(_ reason: String) -> String {
    let lines = reason.split(maxSplits: Self.reasonLines, omittingEmptySubsequences: true) { $0.isNewline }
    let shown = lines.prefix(Self.reasonLines).map { "    " + line($0) + "\n" }.joined()
    return shown + (lines.count > Self.reasonLines ? "    …\n" : "")
  }

  private func red(_ text: String) -> String {
    usesColor ? "\u{1b}[31m\(text)\u{1b}[0m" : text
  }
}
