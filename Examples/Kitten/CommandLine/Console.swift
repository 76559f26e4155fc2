import Foundation
import ProcedureKit

/// Standard output and standard error. Control characters in names are removed, and write errors are ignored.
enum Console {
  static func print(_ text: String, terminator: String = "\n") {
    try? FileHandle.standardOutput.write(contentsOf: Data((text.inLines + terminator).utf8))
  }

  static func printError(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("kitten: \(message.inLines)\n".utf8))
  }

  /// Erases the progress line if the output is a terminal.
  static func eraseLine() {
    if isTerminal { try? FileHandle.standardOutput.write(contentsOf: Data("\r\u{1b}[K".utf8)) }
  }

  /// Whether standard output is a terminal that can erase a line.
  private static var isTerminal: Bool {
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }
}
