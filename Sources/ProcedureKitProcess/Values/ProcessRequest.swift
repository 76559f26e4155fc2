public import Foundation
public import ProcedureKit

/// What to start: a program, its arguments, and its surroundings.
///
/// All texts are bytes, as the system takes them: the name of a file need not be UTF-8. A literal makes such a
/// text, and `SystemText(string)` one of a string:
///
/// ```swift
/// let request = ProcessRequest("cc", ["-c", "\(folder)/kitten.c"])
/// ```
public struct ProcessRequest: Hashable, Sendable {
  /// The program: a path, or a name without a slash, which is looked up in the folders of `PATH`.
  public var executable: SystemText
  /// The arguments, without the name of the program. No shell reads them.
  public var arguments: [SystemText]
  /// All environment variables of the program; `nil` passes on those of this process, as ``inheritedEnvironment`` has them.
  public var environment: [SystemText: SystemText]?
  /// The folder in which the program starts; `nil` for that of this process.
  public var workingDirectory: SystemText?
  /// The bytes that the program can read; `nil` for an empty input.
  public var standardInput: Data?
  /// Whether the standard error goes to the standard output, as `2>&1` does: both in the order of writing.
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

  /// Creates a request for a command line, which `/bin/sh` reads. Text of others does not belong into a command line: pass
  /// it in the environment, or as an argument of a program.
  public static func shell(
    _ command: SystemText, environment: [SystemText: SystemText]? = nil, workingDirectory: SystemText? = nil,
    standardInput: Data? = nil
  ) -> ProcessRequest {
    ProcessRequest(
      "/bin/sh", ["-c", command], environment: environment, workingDirectory: workingDirectory,
      standardInput: standardInput)
  }

  /// The environment variables of this process, to pass on with changes. Foundation's `ProcessInfo` has none that is not UTF-8. If the system
  /// has a name twice, the first value counts, as for `getenv`.
  public static var inheritedEnvironment: [SystemText: SystemText] {
    var variables: [SystemText: SystemText] = [:]
    for entry in InheritedEnvironment.entries {
      guard let end = entry.bytes.firstIndex(of: UInt8(ascii: "=")), end > 0 else { continue }
      let name = SystemText(bytes: entry.bytes[..<end])
      if variables[name] == nil { variables[name] = SystemText(bytes: entry.bytes[(end + 1)...]) }
    }
    return variables
  }

  /// The last part of the program's path, for names and messages.
  public var programName: String {
    executable.bytes.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
      ?? executable.description
  }
}
