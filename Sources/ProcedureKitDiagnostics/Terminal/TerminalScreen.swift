import ProcedureKit
import Synchronization

/// The lines to be written, and the status below them.
final class TerminalScreen: Sendable {
  private struct State {
    var status = TerminalStatus()
    /// The lines that are not written yet.
    var lines = ""
    /// The status that the terminal shows.
    var shown = ""
    /// How many texts were not printed, since the terminal was too slow.
    var lostTexts = 0
    var isEnded = false
  }

  /// How many bytes of lines may wait until readers do, and printed texts are lost.
  private static let patience = 1 << 20

  private let state = Mutex(State())
  private let output: TerminalOutput
  private let words: TerminalLines
  private let elapsed: @Sendable () -> Duration

  init(_ output: TerminalOutput, showsFailures: Bool, elapsed: @escaping @Sendable () -> Duration) {
    self.output = output
    self.elapsed = elapsed
    words = TerminalLines(isLive: output.isLive, usesColor: output.usesColor, showsFailures: showsFailures)
  }

  /// Whether lines wait for a slow terminal.
  var isFull: Bool { state.withLock { !$0.isEnded && $0.lines.utf8.count >= Self.patience } }

  /// Takes an event.
  func take(_ event: ProcedureEvent, of queue: Int) {
    // The user's own description, and so made before the lock is taken.
    let reason = event.kind == .didFinish ? event.error.map { "\($0)" } : nil
    state.withLock { state in
      guard !state.isEnded, let ending = state.status.take(event, of: queue) else { return }
      state.lines += words.lines(for: ending, reason: reason) ?? ""
    }
  }

  /// Returns whether the text is shown, or would be on a terminal that is not too slow.
  func print(_ text: String) -> Bool {
    let lines = words.printed(text)
    return state.withLock { state in
      guard !state.isEnded else { return false }
      if state.lines.utf8.count < Self.patience { state.lines += lines } else { state.lostTexts += 1 }
      return true
    }
  }

  /// Writes the lines that wait, and draws the status anew, if there is anything new. Called by one task at a time.
  func draw() async {
    // One column stays free: in the last one some terminals wrap.
    let columns = output.isLive ? output.columnCount() - 1 : 0
    let text = state.withLock { state in
      replacement(in: &state, by: words.status(state.status, columns: columns))
    }
    if !text.isEmpty { await output.write(text) }
  }

  /// Writes the lines that wait and a summary, in place of the status. Nothing is written after that.
  func end() async {
    let duration = elapsed()
    let text = state.withLock { state in
      state.lines += words.summary(state.status, after: duration, lostTexts: state.lostTexts)
      state.isEnded = true
      return replacement(in: &state, by: "")
    }
    if !text.isEmpty { await output.write(text) }
  }

  private func replacement(in state: inout State, by status: String) -> String {
    let (lines, former) = (state.lines, state.shown)
    guard !lines.isEmpty || status != former else { return "" }
    (state.lines, state.shown) = ("", status)
    return (former.isEmpty ? "" : "\r\u{1b}[K") + lines + status
  }
}
