import Foundation
import ProcedureKit

/// Finds programs.
enum ExecutablePath {
  /// Returns the path of the program of a request. Only a name without a slash is looked for.
  ///
  /// - Throws: ``ProcessError``.
  static func find(_ request: ProcessRequest) throws -> SystemText {
    let name = request.executable
    guard !name.isEmpty else { throw ProcessError(.noExecutable, request) }
    let variables = request.environment ?? [:]
    guard !name.containsZero, request.workingDirectory?.containsZero != true,
      !variables.contains(where: { $0.key.containsZero || $0.value.containsZero })
    else {
      throw ProcessError(.invalidText, request)
    }
    let slash = UInt8(ascii: "/")
    if name.bytes.contains(slash) { return try absolute(name, request) }
    for folder in searchPath(request).bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
      // The system looks for a relative folder, and for the empty one, in the working directory of the program.
      let path = try absolute(
        SystemText(bytes: (folder.isEmpty ? [UInt8(ascii: ".")] : folder) + [slash] + name.bytes), request)
      if !path.containsZero, isProgram(path) { return path }
    }
    throw ProcessError(.notFound, request)
  }

  private static func searchPath(_ request: ProcessRequest) -> SystemText {
    let usual: SystemText = "/usr/bin:/bin"
    guard request.environment == nil else { return request.environment?["PATH"] ?? usual }
    return getenv("PATH").map { SystemText(cString: $0) } ?? usual
  }

  /// Returns why a program cannot be started, if its path or its working directory is the reason.
  static func problem(_ path: SystemText, _ request: ProcessRequest) -> ProcessError? {
    if let folder = request.workingDirectory, !isFolder(folder) { return ProcessError(.noWorkingDirectory, request) }
    if path.withCString({ access($0, F_OK) }) != 0 { return ProcessError(.notFound, request) }
    return isProgram(path) ? nil : ProcessError(.notExecutable, request)
  }

  /// Returns the path from the root, since the program starts in another folder than this process perhaps.
  private static func absolute(_ path: SystemText, _ request: ProcessRequest) throws -> SystemText {
    guard path.bytes.first != UInt8(ascii: "/") else { return path }
    guard let folder = request.workingDirectory else { return "\(try currentFolder(request))/\(path)" }
    return folder.bytes.first == UInt8(ascii: "/")
      ? "\(folder)/\(path)" : "\(try currentFolder(request))/\(folder)/\(path)"
  }

  private static func currentFolder(_ request: ProcessRequest) throws -> SystemText {
    guard let folder = getcwd(nil, 0) else {
      let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .ENOENT)
      throw ProcessError(.launchFailed, request, underlying: error)
    }
    defer { free(folder) }
    return SystemText(cString: folder)
  }

  private static func isProgram(_ path: SystemText) -> Bool {
    path.withCString { access($0, X_OK) } == 0 && !isFolder(path)
  }

  private static func isFolder(_ path: SystemText) -> Bool {
    var information = stat()
    return path.withCString { stat($0, &information) } == 0 && information.st_mode & S_IFMT == S_IFDIR
  }
}
