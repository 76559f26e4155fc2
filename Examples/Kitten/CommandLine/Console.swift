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

  /// The columns of the terminal, 80 if it does not tell.
  static var columnCount: Int {
    var size = winsize()
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return isKnown ? Int(size.ws_col) : 80
  }
}
