import Foundation
import ProcedureKit

/// The functions that look up programs.
enum ExecutablePath {
  /// Returns the path of the program in a request. Only a name without a slash is looked up in `PATH`.
  ///
  /// - Throws: ``ProcessError`` if the path cannot be determined.
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
      // The system resolves relative folders, including the empty path, against the program's working directory.
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

  /// Determines why a program could not be started.
  ///
  /// - Parameters:
  ///   - path: The path of the program.
  ///   - request: The request to start the program.
  ///   - error: The system's error.
  /// - Returns: The error if the reason is the path, the working directory or the interpreter; otherwise `nil`.
  static func problem(_ path: SystemText, _ request: ProcessRequest, _ error: any Error) -> ProcessError? {
    if let folder = request.workingDirectory, !isFolder(folder) { return ProcessError(.noWorkingDirectory, request) }
    if !exists(path) { return ProcessError(.notFound, request) }
    if !isProgram(path) { return ProcessError(.notExecutable, request) }
    guard let code = (error as? POSIXError)?.code, let folder = try? absolute(".", request),
      let problem = InterpreterProblem.find(path, in: folder, code)
    else { return nil }
    return ProcessError(.noInterpreter, request, underlying: problem)
  }

  /// Makes a path absolute, because the working directory of the program may differ from that of this process.
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

  /// Returns whether there is a file or a folder at a path.
  static func exists(_ path: SystemText) -> Bool {
    path.withCString { access($0, F_OK) == 0 }
  }

  /// Returns whether a path refers to a file that this process has permission to execute.
  static func isProgram(_ path: SystemText) -> Bool {
    path.withCString { access($0, X_OK) } == 0 && !isFolder(path)
  }

  private static func isFolder(_ path: SystemText) -> Bool {
    var information = stat()
    return path.withCString { stat($0, &information) } == 0 && information.st_mode & S_IFMT == S_IFDIR
  }
}
