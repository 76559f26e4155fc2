import Foundation

/// Finds programs.
enum ExecutablePath {
  /// Returns the path of the program of a request.
  ///
  /// - Throws: ``ProcessError``.
  static func find(_ request: ProcessRequest) throws -> String {
    let name = request.executable
    guard !name.isEmpty else { throw ProcessError(.noExecutable, request) }
    // The function for texts would make a text of Foundation of the name.
    guard !name.utf8.contains(UInt8(ascii: "/")) else {
      let path = absolute(name, request)
      try check(path, request)
      return path
    }
    let environment = request.environment ?? ProcessInfo.processInfo.environment
    let folders = (environment["PATH"] ?? "/usr/bin:/bin").utf8.split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for folder in folders {
      // An empty folder of PATH is the working directory.
      let path = absolute(folder.isEmpty ? "./\(name)" : "\(Substring(folder))/\(name)", request)
      if access(path, X_OK) == 0, !isFolder(path) { return path }
    }
    throw ProcessError(.notFound, request)
  }

  /// The system looks for a relative path in the working directory of the program.
  private static func absolute(_ path: String, _ request: ProcessRequest) -> String {
    guard !path.hasPrefix("/") else { return path }
    let base = request.workingDirectory.map { URL(fileURLWithPath: $0, isDirectory: true) }
    return URL(fileURLWithPath: path, relativeTo: base).path
  }

  private static func check(_ path: String, _ request: ProcessRequest) throws {
    guard access(path, F_OK) == 0 else { throw ProcessError(.notFound, request) }
    guard access(path, X_OK) == 0, !isFolder(path) else {
      throw ProcessError(.notExecutable, request)
    }
  }

  static func isFolder(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
  }
}
