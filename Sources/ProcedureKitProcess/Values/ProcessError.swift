public import Foundation
public import ProcedureKit

/// The reason a program could not be started, or did not succeed.
public struct ProcessError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``ProcessError``. Later versions may add kinds, so a `switch` needs a `default`.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `notFound`.
    public let description: String

    /// The request does not name a program.
    public static let noExecutable = Kind(description: "noExecutable")
    /// The program does not exist.
    public static let notFound = Kind(description: "notFound")
    /// The path refers to a folder, or to a file that this process does not have permission to execute.
    public static let notExecutable = Kind(description: "notExecutable")
    /// The file specifies an interpreter or a loader that does not exist or is not executable; see ``ProcessError/underlying``.
    public static let noInterpreter = Kind(description: "noInterpreter")
    /// A string in the request contains a NUL character, or the name of an environment variable is empty or contains `=`.
    public static let invalidText = Kind(description: "invalidText")
    /// The working directory is not a folder.
    public static let noWorkingDirectory = Kind(description: "noWorkingDirectory")
    /// The standard input could not be written to a temporary file, from which the program would have read it; see
    /// ``ProcessError/underlying``.
    public static let inputFailed = Kind(description: "inputFailed")
    /// The system could not start the program; see ``ProcessError/underlying``.
    public static let launchFailed = Kind(description: "launchFailed")
    /// The program ended with a status that the procedure does not accept; see ``ProcessError/result``.
    public static let uncleanExit = Kind(description: "uncleanExit")
    /// The program ended, but its status is unknown, because other code in this process collected the status or ignores SIGCHLD.
    public static let statusLost = Kind(description: "statusLost")
  }

  /// The kind of error.
  public let kind: Kind
  /// The request that failed.
  public let request: ProcessRequest
  /// The procedure that started the program, as it appears in events and snapshots; `nil` outside a procedure.
  public let procedure: ProcedureIdentity?
  /// The result of the program, for errors of kind ``Kind-swift.struct/uncleanExit``.
  public let result: ProcessResult?
  /// The error that caused this one, if any.
  ///
  /// For errors of kind ``Kind-swift.struct/launchFailed`` and ``Kind-swift.struct/inputFailed``, this is the error from the system. For
  /// the kind ``Kind-swift.struct/noInterpreter``, it is the problem with the interpreter.
  public let underlying: (any Error)?

  init(_ kind: Kind, _ request: ProcessRequest, result: ProcessResult? = nil, underlying: (any Error)? = nil) {
    self.kind = kind
    self.request = request
    procedure = ProcedureContext.current?.identity
    self.result = result
    self.underlying = underlying
  }

  /// The final status of the program, for errors of kind ``Kind-swift.struct/uncleanExit``.
  public var status: ProcessStatus? { result?.status }

  /// A message that names the program, and explains what failed and, in some cases, what can be done about it.
  public var description: String {
    let origin = procedure.map { " of \($0)" } ?? ""
    let program = "the program \"\(request.executable)\"\(origin)"
    switch kind {
    case .noExecutable:
      return "no program\(origin) was started because the request does not name one. Set ProcessRequest.executable."
    case .notFound:
      let place =
        request.executable.bytes.contains(UInt8(ascii: "/")) ? "at this path" : "in the folders listed in PATH"
      return "\(program) was not started because it was not found \(place)."
    case .notExecutable:
      return
        "\(program) was not started because it is a folder, or this process does not have permission to execute the file."
    case .invalidText:
      return
        "\(program) was not started because its path, its working directory, an argument or an environment variable "
        + "contains a NUL character, or the name of an environment variable is invalid."
    case .noWorkingDirectory:
      return
        "\(program) was not started because its working directory \"\(request.workingDirectory ?? "")\" is not a folder."
    case .statusLost:
      return
        "\(program) ended with an unknown status because other code in this process waits for all child processes, or ignores SIGCHLD."
    case .noInterpreter: return "\(program) was not started: \(underlying.map { "\($0)" } ?? "no interpreter")."
    case .inputFailed:
      return
        "\(program) was not started because its standard input could not be written to a temporary file: \(reason). "
        + "To use another folder for such files, set the environment variable TMPDIR of this process."
    case .launchFailed: return "\(program) was not started: \(reason)."
    default:
      let status = status.map { "\($0)" } ?? "an unknown status"
      let pid = result.map { " (process \($0.processIdentifier))" } ?? ""
      return "\(program) ended with \(status)\(pid)\(lastWords)"
    }
  }

  /// The system's description of the underlying error.
  private var reason: String {
    if let error = underlying as? POSIXError { return String(cString: strerror(error.code.rawValue)) }
    return underlying.map { "\($0)" } ?? "unknown error"
  }

  /// The last line of the program's standard error, or of its standard output if the two are merged.
  private var lastWords: String {
    let text = request.mergesErrorOutput ? result?.text : result?.errorText
    let last = text?.split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }
    return last.map { ": \($0.shortened(to: 500))" } ?? "."
  }

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
