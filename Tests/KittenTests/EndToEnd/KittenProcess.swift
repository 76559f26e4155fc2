import Foundation
import ProcedureKit
import TestSupport
import Testing

/// The built executable, run as a user would.
struct KittenProcess {
  /// The exit status, or the negative number of the signal that ended the process.
  let status: Int32
  let output: String
  let errors: String

  /// Runs the executable until it ends.
  ///
  /// - Parameters:
  ///   - arguments: The command line.
  ///   - directory: The working directory.
  ///   - terminal: The standard output; `nil` for a pipe.
  ///   - onOutput: A function that is called after each output, with all output so far and the process identifier.
  /// - Throws: The error of `Process` if the executable does not exist.
  init(
    _ arguments: [String], in directory: SystemText, terminal: PseudoTerminal? = nil,
    onOutput: @escaping @Sendable (String, pid_t) -> Void = { _, _ in }
  ) async throws {
    let process = Process()
    process.executableURL = BuiltExecutable.url(of: "kitten")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: directory.description)
    process.standardInput = FileHandle.nullDevice
    let (outputPipe, errorPipe) = (Pipe(), Pipe())
    process.standardOutput = terminal?.childSide ?? outputPipe.fileHandleForWriting
    process.standardError = errorPipe.fileHandleForWriting
    let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
    process.terminationHandler = { process in
      exit.yield(process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus)
      exit.finish()
    }
    try process.run()
    // Only the child may hold these descriptors, so that reading ends when the child ends.
    try outputPipe.fileHandleForWriting.close()
    try errorPipe.fileHandleForWriting.close()
    try terminal?.childSide.close()
    let identifier = process.processIdentifier
    let output = Self.text(from: terminal?.testSide ?? outputPipe.fileHandleForReading) { onOutput($0, identifier) }
    let errors = Self.text(from: errorPipe.fileHandleForReading) { _ in }
    self.output = try #require(await output.first { _ in true })
    self.errors = try #require(await errors.first { _ in true })
    status = try #require(await exits.first { _ in true })
  }

  /// Starts reading to the end immediately, on a separate thread, so that the threads of the tests do not wait for a child, and a child
  /// does not wait for a free thread.
  private static func text(
    from file: FileHandle, onMore: @escaping @Sendable (String) -> Void
  ) -> AsyncStream<String> {
    let (texts, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      var text: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      // A terminal whose other side has been closed returns an error instead of an end of file.
      while case let count = read(file.fileDescriptor, &buffer, buffer.count), count > 0 {
        text += buffer.prefix(count)
        onMore(String(decoding: text, as: UTF8.self))
      }
      continuation.yield(String(decoding: text, as: UTF8.self))
      continuation.finish()
    }
    return texts
  }
}
