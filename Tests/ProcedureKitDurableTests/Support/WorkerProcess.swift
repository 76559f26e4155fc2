import Foundation
import ProcedureKitDurable

/// The process `journal-worker`, which runs a durable graph.
struct WorkerProcess: Sendable {
  /// The exit status; the negative number of the signal that ended it.
  let status: Int32
  let output: String
  let errors: String

  /// Beside the bundle of the tests, where the package manager puts all products.
  private static var executable: URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    return (bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL).appending(path: "journal-worker")
  }

  /// Runs the worker to its end, on a thread of its own.
  ///
  /// - Parameters:
  ///   - arguments: The journal, and the file of the effects.
  ///   - kill: After how many lines of output the worker is killed, and how many turns of a loop later; `nil` for never.
  ///   - blocks: The largest file that the worker may write, in blocks of the shell.
  /// - Throws: What `Process` throws when there is no such executable.
  init(_ arguments: [String], kill: (lines: Int, turns: Int)? = nil, fileLimit blocks: Int? = nil) async throws {
    self = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try Self(blocking: arguments, kill, blocks) })
      }
    }
  }

  private init(blocking arguments: [String], _ kill: (lines: Int, turns: Int)?, _ blocks: Int?) throws {
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    let command = blocks.map { "ulimit -f \($0); " } ?? ""
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", command + "exec \"$0\" \"$@\"", Self.executable.path(percentEncoded: false)] + arguments
    (process.standardOutput, process.standardError) = (output, errors)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
    try errors.fileHandleForWriting.close()
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    var kill = kill
    func killIfDue() {
      guard let due = kill, text.count(where: { $0 == 10 }) >= due.lines else { return }
      var turns = due.turns
      while turns > 0 { turns -= 1 }
      Foundation.kill(process.processIdentifier, SIGKILL)
      kill = nil
    }
    killIfDue()
    while case let count = read(output.fileHandleForReading.fileDescriptor, &buffer, buffer.count), count > 0 {
      text += buffer.prefix(count)
      killIfDue()
    }
    self.output = String(decoding: text, as: UTF8.self)
    self.errors = try String(decoding: errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
  }
}
