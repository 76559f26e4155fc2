internal import Foundation

/// Functions for accessing the process and the files of a test run. No other file of `TestingProcedureKit` imports Foundation.
enum TestProcess {
  static var environment: [String: String] { ProcessInfo.processInfo.environment }

  /// Returns the contents of a text file, or an empty string if the file is missing.
  static func text(ofFile path: String) throws -> String {
    guard FileManager.default.fileExists(atPath: path) else { return "" }
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  /// Writes a new file or replaces the contents of a file.
  static func write(_ text: String, toFile path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  /// Appends text to a file, creating the file if it is missing.
  static func append(_ text: String, toFile path: String) throws {
    if !FileManager.default.fileExists(atPath: path) {
      try Data().write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
    }
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
  }
}
