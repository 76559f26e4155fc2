import Foundation
import ProcedureKit

/// The reason the interpreter of a file cannot be started. The system reports such problems with the same errors as problems with the
/// file itself.
struct InterpreterProblem: Error, CustomStringConvertible {
  let description: String

  /// The number of bytes that the system reads to find the interpreter.
  private static let lineLimit = 256
  /// The maximum number of nested scripts that the system accepts as interpreters.
  private static let nestingLimit = 5

  /// Finds out why a file could not be started even though it exists and is executable.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - folder: The folder against which a relative path of an interpreter is resolved.
  ///   - code: The system's error.
  /// - Returns: The problem; `nil` if the interpreter is not the reason.
  static func find(_ path: SystemText, in folder: SystemText, _ code: POSIXErrorCode) -> InterpreterProblem? {
    var path = path
    for nesting in 0..<nestingLimit {
      let start = firstBytes(of: path)
      guard start.starts(with: "#!".utf8) else {
        // The interpreter of a binary is the dynamic loader.
        let isBinary = start.starts(with: [0x7f] + Array("ELF".utf8))
        return isBinary && nesting == 0 && code == .ENOENT
          ? InterpreterProblem(description: "the dynamic loader specified in the file does not exist") : nil
      }
      let blanks = [UInt8(ascii: " "), UInt8(ascii: "\t")]
      let line = start.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }.drop { blanks.contains($0) }
      let name = SystemText(bytes: line.prefix { !blanks.contains($0) && $0 != 0 })
      guard !name.isEmpty, name != "\r" else {
        return InterpreterProblem(description: "the first line of the file does not name an interpreter")
      }
      let interpreter = name.bytes.first == UInt8(ascii: "/") ? name : "\(folder)/\(name)"
      if name.bytes.last == UInt8(ascii: "\r"), !ExecutablePath.exists(interpreter) {
        let text = SystemText(bytes: name.bytes.dropLast())
        return InterpreterProblem(
          description: "the first line of the file ends with CR LF, so the system looks for an interpreter whose name "
            + "is \"\(text)\" followed by a carriage return")
      }
      if !ExecutablePath.isProgram(interpreter) {
        let reason = ExecutablePath.exists(interpreter) ? "is not executable" : "does not exist"
        return InterpreterProblem(description: "the file's interpreter \"\(name)\" \(reason)")
      }
      path = interpreter
    }
    return nil
  }

  /// Returns the first few bytes of a file, or an empty array if the file cannot be read.
  private static func firstBytes(of path: SystemText) -> [UInt8] {
    let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: lineLimit)
    let count = read(descriptor, &bytes, bytes.count)
    return Array(bytes.prefix(max(count, 0)))
  }
}
