import ProcedureKit
import Synchronization

/// A screen that collects the lines to write to the terminal and draws the status line below them.
final class TerminalScreen: Sendable {
  private struct State {
    var status = TerminalStatus()
    /// The lines that have not been written yet.
    var lines = ""
    /// The status that the terminal shows.
    var shown = ""
    /// The number of messages that were not printed because the terminal was too slow.
    var lostTexts = 0
    var isEnded = false
  }

  /// The maximum number of bytes that can wait to be written. Above this limit, readers of feeds wait, and printed messages are lost.
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

  /// Whether too many lines are waiting for a slow terminal.
  var isFull: Bool { state.withLock { !$0.isEnded && $0.lines.utf8.count >= Self.patience } }

  /// Records an event.
  func take(_ event: ProcedureEvent, of queue: Int) {
    // The interpolation calls the user's code (`description`), so it is evaluated before the lock is acquired.
    let reason = event.kind == .didFinish ? event.error.map { "\($0)" } : nil
    state.withLock { state in
      guard !state.isEnded, let ending = state.status.take(event, of: queue) else { return }
      state.lines += words.lines(for: ending, reason: reason) ?? ""
    }
  }

  /// Prints text. Returns `false` if the screen has ended. Otherwise, returns `true`, even if the text is lost because the terminal is too
  /// slow.
  func print(_ text: String) -> Bool {
    let lines = words.printed(text)
    return state.withLock { state in
      guard !state.isEnded else { return false }
      if state.lines.utf8.count < Self.patience { state.lines += lines } else { state.lostTexts += 1 }
      return true
    }
  }

  /// Writes the pending lines and redraws the status if anything has changed. Only one task at a time calls this function.
  func draw() async {
    // The last column stays empty, because some terminals wrap a line that reaches it.
    let columns = output.isLive ? output.columnCount() - 1 : 0
    let text = state.withLock { state in
      replacement(in: &state, by: words.status(state.status, columns: columns))
    }
    if !text.isEmpty { await output.write(text) }
  }

  /// Writes the pending lines, and a summary in place of the status. Later calls write nothing.
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
    let (lines, previous) = (state.lines, state.shown)
    guard !lines.isEmpty || status != previous else { return "" }
    (state.lines, state.shown) = ("", status)
    return (previous.isEmpty ? "" : "\r\u{1b}[K") + lines + status
  }
}
