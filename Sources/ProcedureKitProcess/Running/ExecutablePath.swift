import Foundation

/// Finds programs.
enum ExecutablePath {
  /// Returns the path of the program of a request, which starts with these variables. Only a name without a slash is looked for.
  ///
  /// - Throws: ``ProcessError``.
  static func find(_ request: ProcessRequest, _ variables: [String: String]) throws -> String {
    let name = request.executable
    guard !name.isEmpty else { throw ProcessError(.noExecutable, request) }
    guard !name.utf8.contains(0) else { throw ProcessError(.invalidText, request) }
    if name.utf8.contains(UInt8(ascii: "/")) { return absolute(name, request) }
    let folders = (variables["PATH"] ?? "/usr/bin:/bin").utf8.split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for folder in folders {
      // The system looks for a relative folder, and for the empty one, in the working directory of the program.
      let path = absolute(folder.isEmpty ? "./\(name)" : "\(Substring(folder))/\(name)", request)
      if isProgram(path) { return path }
    }
    throw ProcessError(.notFound, request)
  }

  /// Returns why a program cannot be started, if its path or its working directory is the reason.
  static func problem(_ path: String, _ request: ProcessRequest) -> ProcessError? {
    if let folder = request.workingDirectory, !isFolder(folder) { return ProcessError(.noWorkingDirectory, request) }
    if access(path, F_OK) != 0 { return ProcessError(.notFound, request) }
    return isProgram(path) ? nil : ProcessError(.notExecutable, request)
  }

  private static func absolute(_ path: String, _ request: ProcessRequest) -> String {
    guard path.utf8.first != UInt8(ascii: "/") else { return path }
    let base = request.workingDirectory.map { URL(fileURLWithPath: $0, isDirectory: true) }
    return URL(fileURLWithPath: path, relativeTo: base).path
  }

  private static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 && !isFolder(path) }

  private static func isFolder(_ path: String) -> Bool {
    var information = stat()
    return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFDIR
  }
}
