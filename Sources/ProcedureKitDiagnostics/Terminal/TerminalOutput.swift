import Dispatch
public import Foundation

/// Where a ``TerminalProgress`` writes to, with the properties of that output.
public struct TerminalOutput: Sendable {
  /// Whether a line can be replaced with another one. If not, each procedure gets a separate line.
  public var isLive: Bool
  /// Whether failures are printed in red.
  public var usesColor: Bool
  /// Returns the number of columns. The function is called before each drawing, because a window can change its size.
  public var columnCount: @Sendable () -> Int
  /// Writes text, and returns when the text has been written. Only one task at a time calls the function.
  public var write: @Sendable (String) async -> Void

  /// Creates a custom output.
  ///
  /// - Parameters:
  ///   - isLive: Whether a line can be erased with `"\r\u{1b}[K"`.
  ///   - usesColor: Whether failures are printed in red.
  ///   - columnCount: Returns the number of columns.
  ///   - write: Writes text. While this function waits, nothing is drawn, but no queue is delayed.
  public init(
    isLive: Bool, usesColor: Bool, columnCount: @escaping @Sendable () -> Int = { 80 },
    write: @escaping @Sendable (String) async -> Void
  ) {
    (self.isLive, self.usesColor, self.columnCount, self.write) = (isLive, usesColor, columnCount, write)
  }

  /// Creates an output to a file.
  ///
  /// The output is live if the file is a terminal, unless the environment contains `TERM=dumb`. It uses colours unless the environment
  /// contains [`NO_COLOR`](https://no-color.org). Errors in writing are ignored.
  ///
  /// - Parameters:
  ///   - file: The file, which must stay open.
  ///   - environment: The environment; by default the environment of the process.
  public init(to file: FileHandle, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let descriptor = file.fileDescriptor
    let isLive = isatty(descriptor) == 1 && environment["TERM"] != "dumb"
    // A user can stop a terminal for any length of time, and with it everything that writes to it. No thread of Swift's concurrency pool
    // may wait for that.
    let thread = DispatchQueue(label: "ProcedureKitDiagnostics.TerminalOutput", qos: .userInitiated)
    self.init(
      isLive: isLive, usesColor: isLive && (environment["NO_COLOR"] ?? "").isEmpty,
      columnCount: { Self.columnCount(of: descriptor) },
      write: { text in
        await withCheckedContinuation { continuation in
          thread.async {
            try? file.write(contentsOf: Data(text.utf8))
            continuation.resume()
          }
        }
      })
  }

  /// Standard error.
  public static var standardError: TerminalOutput { TerminalOutput(to: .standardError) }

  /// Standard output.
  public static var standardOutput: TerminalOutput { TerminalOutput(to: .standardOutput) }

  /// Returns the number of columns of a terminal; 80 if it is unknown.
  private static func columnCount(of descriptor: Int32) -> Int {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? Int(size.ws_col) : 80
  }
}
