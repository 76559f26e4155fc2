import Dispatch
public import Foundation

/// A destination for the output of a ``TerminalProgress``.
public struct TerminalOutput: Sendable {
  /// Whether a line that has been written can be replaced. If not, each procedure gets a separate line.
  public var isLive: Bool
  /// Whether failures are printed in red.
  public var usesColor: Bool
  /// A closure that returns the number of columns. The closure is called whenever the status is drawn, because the size of the window can
  /// change.
  public var columnCount: @Sendable () -> Int
  /// A closure that writes text and returns when the text has been written. Only one task at a time calls the closure.
  public var write: @Sendable (String) async -> Void

  /// Creates a custom output.
  ///
  /// - Parameters:
  ///   - isLive: Whether a line can be erased with `"\r\u{1b}[K"`.
  ///   - usesColor: Whether failures are printed in red.
  ///   - columnCount: A closure that returns the number of columns.
  ///   - write: A closure that writes text. While the closure is waiting, nothing is drawn, but the queues are not delayed.
  public init(
    isLive: Bool, usesColor: Bool, columnCount: @escaping @Sendable () -> Int = { 80 },
    write: @escaping @Sendable (String) async -> Void
  ) {
    (self.isLive, self.usesColor, self.columnCount, self.write) = (isLive, usesColor, columnCount, write)
  }

  /// Creates an output that writes to a file.
  ///
  /// The output is live if the file is a terminal, unless the environment contains `TERM=dumb`. A live output uses colours, unless the
  /// environment contains a [`NO_COLOR`](https://no-color.org) variable that is not empty. Errors that occur while writing are ignored.
  ///
  /// - Parameters:
  ///   - file: The file, which must stay open.
  ///   - environment: The environment variables. The default is the environment of the current process.
  public init(to file: FileHandle, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let descriptor = file.fileDescriptor
    let isLive = isatty(descriptor) == 1 && environment["TERM"] != "dumb"
    // A user can pause a terminal's output for any length of time, and writing to the terminal blocks until the output is resumed. Threads
    // in Swift's concurrency pool must not be blocked like that, so text is written on a separate dispatch queue.
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

  /// An output that writes to standard error.
  public static var standardError: TerminalOutput { TerminalOutput(to: .standardError) }

  /// An output that writes to standard output.
  public static var standardOutput: TerminalOutput { TerminalOutput(to: .standardOutput) }

  /// Returns the number of columns on a terminal, or 80 if the number is unknown.
  private static func columnCount(of descriptor: Int32) -> Int {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? Int(size.ws_col) : 80
  }
}
