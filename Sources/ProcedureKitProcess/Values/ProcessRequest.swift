public import Foundation

/// What to start: a program, its arguments, and its surroundings.
public struct ProcessRequest: Hashable, Sendable {
  /// The program: a path, or a name without a slash, which is looked up in the folders of `PATH`.
  public var executable: String
  /// The arguments, without the name of the program. No shell reads them.
  public var arguments: [String]
  /// All environment variables of the program; `nil` passes on those of this process.
  public var environment: [String: String]?
  /// The folder in which the program starts; `nil` for that of this process.
  public var workingDirectory: String?
  /// The bytes that the program can read; `nil` for an empty input.
  public var standardInput: Data?
  /// Whether the standard error goes to the standard output, as `2>&1` does: both in the order of writing.
  public var mergesErrorOutput = false

  /// Creates a request.
  public init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    workingDirectory: String? = nil, standardInput: Data? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.workingDirectory = workingDirectory
    self.standardInput = standardInput
  }

  /// Creates a request for a command line, which `/bin/sh` reads. Text of others does not belong into a command line: pass
  /// it in the environment, or as an argument of a program.
  public static func shell(
    _ command: String, environment: [String: String]? = nil, workingDirectory: String? = nil, standardInput: Data? = nil
  ) -> ProcessRequest {
    ProcessRequest(
      "/bin/sh", ["-c", command], environment: environment, workingDirectory: workingDirectory,
      standardInput: standardInput)
  }

  /// The last part of the program's path, for names and messages.
  public var programName: String {
    executable.split(separator: "/").last.map(String.init) ?? executable
  }
}
