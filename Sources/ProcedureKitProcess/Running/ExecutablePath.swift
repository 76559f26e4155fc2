import Foundation

/// Finds programs.
enum ExecutablePath {
  /// Returns the path of the program of a request.
  ///
  /// - Throws: ``ProcessError``.
  static func find(_ request: ProcessRequest) throws -> String {
    let name = request.executable
    guard !name.isEmpty else { throw ProcessError(.noExecutable, request) }
    guard !name.contains("/") else {
      // The system looks for a relative path in the working directory of the program.
      let base = request.workingDirectory.map { URL(fileURLWithPath: $0, isDirectory: true) }
      let path = URL(fileURLWithPath: name, relativeTo: base).path
      try check(path, request)
      return path
    }
    let environment = request.environment ?? ProcessInfo.processInfo.environment
    for folder in (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":") {
      let path = "\(folder)/\(name)"
      if isFile(path), FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw ProcessError(.notFound, request)
  }

  private static func check(_ path: String, _ request: ProcessRequest) throws {
    guard FileManager.default.fileExists(atPath: path) else { throw ProcessError(.notFound, request) }
    guard isFile(path), FileManager.default.isExecutableFile(atPath: path) else {
      throw ProcessError(.notExecutable, request)
    }
  }

  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }

  private static func isFile(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path) && !isFolder(path)
  }
}
