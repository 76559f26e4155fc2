import Foundation
import ProcedureKit

/// Standard output and standard error. Write errors are ignored, because either stream may be closed.
enum Console {
  static func print(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text.inLines + "\n").utf8))
  }

  static func printProgress(_ text: String) {
    try? FileHandle.standardError.write(contentsOf: Data((text.inLines + "\n").utf8))
  }

  static func printError(_ message: String) {
    printProgress("Benchmark: \(message)")
  }
}
