import Foundation

/// Standard output and standard error; a reader that has gone is no reason to stop.
enum Console {
  static func print(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
  }

  static func printError(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("crawler: \(message)\n".utf8))
  }
}
