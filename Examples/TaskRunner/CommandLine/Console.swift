import Foundation
import ProcedureKit

/// Standard output and standard error. Control characters in names are removed, and write errors are ignored.
enum Console {
  /// Writes to standard output.
  ///
  /// - Parameters:
  ///   - text: The text to print.
  ///   - output: The output of a command, which is printed unchanged after the text.
  ///   - terminator: The text to print at the end.
  static func print(_ text: String, output: String = "", terminator: String = "\n") {
    write(text.inLines + output + terminator, to: STDOUT_FILENO)
  }

  static func printError(_ message: String, output: String = "", prefix: String = "taskrunner: ") {
    write("\(prefix)\(message.inLines)\(output)\n", to: STDERR_FILENO)
  }

  /// Writes the bytes without copying them. A file handle would copy each string, which would take 2.5% of the running time if there are
  /// many short commands.
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
