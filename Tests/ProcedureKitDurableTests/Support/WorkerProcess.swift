import Foundation
import ProcedureKitDurable
import TestSupport

/// The process `journal-worker`, which runs a durable graph.
struct WorkerProcess: Sendable {
  /// The exit status, or the negative number of the signal that ended the process.
  let status: Int32
  let output: String
  let errors: String

  /// Runs the worker until it ends, on a separate thread.
  ///
  /// - Parameters:
  ///   - arguments: The paths of the journal and of the file of effects.
  ///   - kill: The number of lines of output after which the worker is killed, and the number of loop iterations of the delay; `nil` for no
  ///     kill.
  ///   - blocks: The size of the largest file that the worker may write, in blocks of the shell.
  /// - Throws: The error of `Process` if the executable does not exist.
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
    let worker = BuiltExecutable.url(of: "journal-worker").path(percentEncoded: false)
    process.arguments = ["-c", command + "exec \"$0\" \"$@\"", worker] + arguments
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
