import Foundation
import Testing

/// The built executable, run as a user would.
struct KittenProcess {
  /// The exit status; the negative number of the signal that ended it.
  let status: Int32
  let output: String
  let errors: String

  /// Beside the bundle of the tests, where the package manager puts all products.
  private static var executable: URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    let products = bundle?.deletingLastPathComponent() ?? Bundle.main.bundleURL
    return products.appending(path: "kitten")
  }

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - arguments: The command line.
  ///   - directory: Where it runs.
  ///   - terminal: What its standard output is; a pipe if there is none.
  ///   - onOutput: Called with everything that it has printed, and its process identifier, when it has printed more.
  /// - Throws: What `Process` throws when there is no such executable.
  init(
    _ arguments: [String], in directory: String, terminal: PseudoTerminal? = nil,
    onOutput: @escaping @Sendable (String, pid_t) -> Void = { _, _ in }
  ) async throws {
    let process = Process()
    process.executableURL = Self.executable
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: directory)
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
    // Only the child must hold these, so that reading ends when it does.
    try outputPipe.fileHandleForWriting.close()
    try errorPipe.fileHandleForWriting.close()
    try terminal?.childSide.close()
    let identifier = process.processIdentifier
    async let output = Self.text(from: terminal?.testSide ?? outputPipe.fileHandleForReading) {
      onOutput($0, identifier)
    }
    async let errors = Self.text(from: errorPipe.fileHandleForReading) { _ in }
    self.output = await output
    self.errors = await errors
    var iterator = exits.makeAsyncIterator()
    status = try #require(await iterator.next())
  }

  /// Reads to the end, on a thread of its own: the threads of the tests must not wait for a child.
  private static func text(from file: FileHandle, onMore: @escaping @Sendable (String) -> Void) async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        // A terminal whose other side has gone gives an error instead of an end.
        while case let count = read(file.fileDescriptor, &buffer, buffer.count), count > 0 {
          text += buffer.prefix(count)
          onMore(String(decoding: text, as: UTF8.self))
        }
        continuation.resume(returning: String(decoding: text, as: UTF8.self))
      }
    }
  }
}
