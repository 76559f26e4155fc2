import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Runs `page-sizes`, which is the command-line tool of the guide *Six programs*.
@Suite(.timeLimit(.minutes(10))) struct ProgramsGuide {
  /// Runs the tool, sends it SIGTERM when the slow page has been requested, and returns its exit status and its output.
  private func run(_ paths: String...) async throws -> (status: Int32, output: String) {
    let (process, output, errors) = (Process(), Pipe(), Pipe())
    let messages = errors.fileHandleForReading
    let server = try LoopbackServer { request in
      if request.path == "/slow" { _ = messages.availableData }  // waits until the tool reports that it is stopping
      return .ok("a kitten")
    }
    defer { server.stop() }
    let (statuses, status) = AsyncStream.makeStream(of: Int32.self)
    process.executableURL = BuiltExecutable.url(of: "page-sizes")
    process.arguments = paths.map { server.url($0).absoluteString }
    (process.standardOutput, process.standardError) = (output, errors)
    process.standardInput = FileHandle.nullDevice
    process.terminationHandler = { status.yield($0.terminationStatus) }
    try process.run()
    try output.fileHandleForWriting.close()
    try errors.fileHandleForWriting.close()
    if paths.contains("/slow") {
      try await server.waitForRequests(1)
      kill(process.processIdentifier, SIGTERM)
    }
    let end = try #require(await statuses.first { _ in true })
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    return (end, text.replacing(server.url("/").absoluteString, with: "/"))
  }

  @Test("A command-line tool ends when its work is done")
  func end() async throws {
    let (status, output) = try await run("/kitten", "/cat")
    #expect(status == 0)
    #expect(output == "/kitten: 8 bytes\n/cat: 8 bytes\n")
  }

  @Test("A command-line tool that receives a signal finishes what it has begun")
  func signal() async throws {
    let (status, output) = try await run("/slow")
    #expect(status == 128 + SIGTERM)
    #expect(output == "/slow: 8 bytes\n")
  }
}
