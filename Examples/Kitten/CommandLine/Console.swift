import Foundation

/// Standard output and standard error; whoever reads them may have gone, which is no reason to stop.
enum Console {
  static func print(_ text: String, terminator: String = "\n") {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + terminator).utf8))
  }

  static func printError(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("kitten: \(message)\n".utf8))
  }

  /// Whether standard output is a terminal that can take a line back.
  static var isTerminal: Bool {
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }
}
