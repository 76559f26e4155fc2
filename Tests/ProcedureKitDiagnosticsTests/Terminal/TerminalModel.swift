import ProcedureKitDiagnostics
import Synchronization
import TestingProcedureKit

/// A terminal that understands only the output that a `TerminalProgress` may write.
final class TerminalModel: Sendable {
  private struct State {
    var writes: [String] = []
    var lines = [""]
    var problems: [String] = []
  }

  private let state = Mutex(State())
  private let news = AsyncStream.makeStream(of: Void.self)
  let isLive: Bool
  let columns: Int

  init(isLive: Bool = true, columns: Int = 80) {
    (self.isLive, self.columns) = (isLive, columns)
  }

  func output(usesColor: Bool = false, waiting: @escaping @Sendable () async -> Void = {}) -> TerminalOutput {
    TerminalOutput(
      isLive: isLive, usesColor: usesColor, columnCount: { [columns] in columns },
      write: { text in
        self.write(text)
        await waiting()
      })
  }

  /// Waits until `condition` holds for the lines that are shown.
  func wait(until condition: ([String]) -> Bool) async {
    if condition(lines) { return }
    for await _ in news.stream where condition(lines) { return }
  }

  var writes: [String] { state.withLock { $0.writes } }
  /// The lines that are shown. The last one is the line with the cursor.
  var lines: [String] { state.withLock { $0.lines } }
  /// Descriptions of output that would have harmed a terminal.
  var problems: [String] { state.withLock { $0.problems } }

  private func write(_ text: String) {
    state.withLock { state in
      state.writes.append(text)
      let erased = "\r\u{1b}[K"
      var rest = text[...]
      if rest.hasPrefix(erased) {
        if !isLive { state.problems.append("a line was taken back") }
        state.lines[state.lines.count - 1] = ""
        rest = rest.dropFirst(erased.count)
      }
      let red = rest.replacing("\u{1b}[31m", with: "").replacing("\u{1b}[0m", with: "")
      if red.unicodeScalars.contains(where: { $0 != "\n" && $0.properties.generalCategory == .control }) {
        state.problems.append("control characters in \(red.debugDescription.prefix(200))")
      }
      let lines = red.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      state.lines[state.lines.count - 1] += lines[0]
      state.lines += lines.dropFirst()
      if let last = state.lines.last, last.count >= columns {
        state.problems.append("too wide: \(last)")
      }
    }
    news.continuation.yield()
  }
}
