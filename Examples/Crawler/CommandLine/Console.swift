import Foundation
import ProcedureKit

/// Standard output and standard error. Control characters in names are removed, and write errors are ignored.
enum Console {
  static func print(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text.inLines + "\n").utf8))
  }

  static func printError(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("crawler: \(message.inLines)\n".utf8))
  }
}
