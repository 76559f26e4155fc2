import Foundation

/// Calls `body` with a new, empty folder, and then removes the folder.
func withTemporaryFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder)
}

extension FileHandle {
  /// Creates an empty file for writing.
  static func creating(_ file: URL) throws -> FileHandle {
    try Data().write(to: file)
    return try FileHandle(forWritingTo: file)
  }
}

/// Other programs on this machine.
enum Program {
  /// Looks for a program in the folders of `PATH`.
  ///
  /// - Parameters:
  ///   - name: The name of the program.
  ///   - folders: Additional folders to search.
  /// - Returns: The path of the program; `nil` if it is not installed.
  static func path(of name: String, orIn folders: [String] = []) -> String? {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (path + folders).map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
