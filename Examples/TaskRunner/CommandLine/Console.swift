import Foundation

/// Standard output and standard error. Their reader may have gone, which is no reason to stop.
enum Console {
  static func print(_ text: String, terminator: String = "\n") {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + terminator).utf8))
  }

  static func printError(_ message: String, prefix: String = "taskrunner: ") {
    try? FileHandle.standardError.write(contentsOf: Data("\(prefix)\(message)\n".utf8))
  }
}
