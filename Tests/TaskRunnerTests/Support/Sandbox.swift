import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitProcess
import Synchronization
import TestSupport

@testable import taskrunner

/// A folder for a single test, in which the built executable is run. The folder is removed when the test ends.
final class Sandbox: Sendable {
  let path: String

  init(_ tasks: String = "[]") throws {
    // The path has the system's own spelling, because commands print it.
    let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
    path = folder.appending(path: "taskrunner-tests-\(UUID().uuidString)").path(percentEncoded: false)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try write(tasks, to: "tasks.json")
  }

  /// Returns the path of a file in the folder, or of the folder itself.
  func file(_ name: SystemText = ".") -> SystemText { "\(path)/\(name)" }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: SystemText) throws {
    let file = file(name)
    try SystemFiles.makeFolders(SystemText(bytes: file.bytes.prefix(file.bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)))
    let descriptor = try SystemFiles.open(file, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
    defer { close(descriptor) }
    try SystemFiles.write(text.utf8, to: descriptor)
  }

  /// Returns the text of a file; `nil` if the file does not exist.
  func text(_ name: SystemText) -> String? {
    (try? SystemFiles.contents(file(name))).map { String(decoding: $0, as: UTF8.self) }
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }

  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(name)") }

  /// Runs the executable until it ends.
  ///
  /// - Parameters:
  ///   - arguments: The command line.
  ///   - environment: All environment variables; `nil` for those of the tests.
  ///   - onLine: A function that is called for each line that the executable prints, and that can send it signals.
  /// - Returns: The output of the executable, and its status.
  /// - Throws: `ProcessError`, if the executable cannot be started.
  func run(
    _ arguments: SystemText..., environment: [SystemText: SystemText]? = nil,
    onLine: @escaping @Sendable (String, ProcessControl) -> Void = { _, _ in }
  ) async throws -> ProcessResult {
    try await run(arguments, environment: environment, onLine: onLine)
  }

  func run(
    _ arguments: [SystemText], environment: [SystemText: SystemText]? = nil,
    onLine: @escaping @Sendable (String, ProcessControl) -> Void = { _, _ in }
  ) async throws -> ProcessResult {
    let launched = Mutex<ProcessControl?>(nil)
    var process = ProcessProcedure("taskrunner")
    process.acceptsStatus = { _ in true }
    process.onLaunch = { control in launched.withLock { $0 = control } }
    process.onLine = { line in if let control = launched.withLock({ $0 }) { onLine(line.text, control) } }
    let request = ProcessRequest(
      SystemText(Self.executable), arguments, environment: environment, workingDirectory: SystemText(path))
    return try await process(request)
  }

  /// The path of the task runner.
  static var executable: String { BuiltExecutable.url(of: "taskrunner").path(percentEncoded: false) }

  /// Returns whether a process that was killed has ended. On a busy machine, this can take several seconds.
  static func isGone(_ process: Int32) async -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while isAlive(process), ContinuousClock.now < end { await Task.yield() }
    return !isAlive(process)
  }

  /// Returns whether a process exists and is not a zombie.
  private static func isAlive(_ process: Int32) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
    return text.split(separator: ")").last?.first { $0 != " " } != "Z"
  }
}
