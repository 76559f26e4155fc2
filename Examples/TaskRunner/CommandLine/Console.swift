import Foundation
import ProcedureKit

/// Standard output and standard error, without control characters of names. Errors of closed outputs are ignored.
enum Console {
  /// - Parameters:
  ///   - text: The text.
  ///   - output: The output of a command, which follows unchanged.
  ///   - terminator: The end.
  static func print(_ text: String, output: String = "", terminator: String = "\n") {
    write(text.inLines + output + terminator, to: STDOUT_FILENO)
  }

  static func printError(_ message: String, output: String = "", prefix: String = "taskrunner: ") {
    write("\(prefix)\(message.inLines)\(output)\n", to: STDERR_FILENO)
  }

  /// Writes the bytes without a copy. A file handle copies each text, which costs 2.5 % of a run of many short commands.
  private static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}
