import Foundation
import ProcedureKit

/// Standard output and standard error, without control characters of names. Errors of closed outputs are ignored.
enum Console {
  static func print(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text.inLines + "\n").utf8))
  }

  static func printError(_ message: String) {
    try? FileHandle.standardError.write(contentsOf: Data("crawler: \(message.inLines)\n".utf8))
  }
}
