public import Foundation
public import ProcedureKit

/// A request to start a program, with its arguments and its environment.
///
/// As in the system's own interface, all strings in a request are bytes, because a file name need not be valid UTF-8. Use a literal to
/// create such a string, or `SystemText(string)` to convert one:
///
/// ```swift
/// let request = ProcessRequest("cc", ["-c", "\(folder)/kitten.c"])
/// ```
public struct ProcessRequest: Hashable, Sendable {
  /// The path of the program, or a name without slashes to look up in the folders of `PATH`.
  public var executable: SystemText
  /// The arguments, without the name of the program. They are not interpreted by a shell.
  public var arguments: [SystemText]
  /// The environment variables of the program. If the value is `nil`, the program inherits the variables of this process; see
  /// ``inheritedEnvironment``.
  public var environment: [SystemText: SystemText]?
  /// The folder in which the program starts; `nil` for the working directory of this process.
  public var workingDirectory: SystemText?
  /// The bytes that the program can read from its standard input; `nil` if the input is empty.
  public var standardInput: Data?
  /// Whether standard error is merged into standard output, as with `2>&1`. If so, all output is in the order in which it was written.
  public var mergesErrorOutput = false

  /// Creates a request.
  public init(
    _ executable: SystemText, _ arguments: [SystemText] = [], environment: [SystemText: SystemText]? = nil,
    workingDirectory: SystemText? = nil, standardInput: Data? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.workingDirectory = workingDirectory
    self.standardInput = standardInput
  }

  /// Creates a request for a command line that `/bin/sh` interprets.
  ///
  /// Do not insert untrusted text into a command line. Pass such text in the environment or as an argument of a program instead.
  public static func shell(
    _ command: SystemText, environment: [SystemText: SystemText]? = nil, workingDirectory: SystemText? = nil,
    standardInput: Data? = nil
  ) -> ProcessRequest {
    ProcessRequest(
      "/bin/sh", ["-c", command], environment: environment, workingDirectory: workingDirectory,
      standardInput: standardInput)
  }

  /// The environment variables of this process, which you can change and pass on to a program.
  ///
  /// Unlike Foundation's `ProcessInfo`, this property includes variables that are not valid UTF-8. If a name occurs more than once, the
  /// first value applies, as with `getenv`.
  public static var inheritedEnvironment: [SystemText: SystemText] {
    var variables: [SystemText: SystemText] = [:]
    for entry in InheritedEnvironment.entries {
      guard let end = entry.bytes.firstIndex(of: UInt8(ascii: "=")), end > 0 else { continue }
      let name = SystemText(bytes: entry.bytes[..<end])
      if variables[name] == nil { variables[name] = SystemText(bytes: entry.bytes[(end + 1)...]) }
    }
    return variables
  }

  /// The last component of the program's path, for use in names and messages.
  public var programName: String {
    executable.bytes.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
      ?? executable.description
  }
}
