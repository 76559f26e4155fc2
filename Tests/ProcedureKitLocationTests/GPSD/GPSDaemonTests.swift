import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitLocation
import Testing

@Suite(.timeLimit(.minutes(10))) struct GPSDaemonTests {
  /// Returns the locations until the source throws, and the error.
  private func read(_ source: GPSDaemon) async -> (locations: [Location], error: LocationError?) {
    var locations: [Location] = []
    do {
      for try await location in source.locations() { locations.append(location) }
      return (locations, nil)
    } catch {
      return (locations, error as? LocationError)
    }
  }

  @Test("The locations of a recorded gpsd arrive in order, without those whose time is unknown, until the daemon ends")
  func recording() async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps)
    let (locations, error) = await read(GPSDaemon(port: daemon.port))
    #expect(daemon.received == "?WATCH={\"enable\":true,\"json\":true};\n")
    #expect(error?.kind == .ended)
    #expect(locations.count == 10)
    #expect(
      locations.first
        == Location(
          latitude: 46.500166667, longitude: 7.567, horizontalAccuracy: 17.1, altitude: 1343.1, verticalAccuracy: 34.5,
          speed: 1.286, course: 45,
          timestamp: try Date("2026-11-08T10:35:11Z", strategy: .iso8601)))
    #expect(locations.last?.latitude == 46.501166667)
    let times = locations.map(\.timestamp)
    #expect(times == times.sorted())
  }

  @Test("Of several devices, only the chosen one is used", arguments: [("/dev/pts/1", 10), ("/dev/gps7", 0)])
  func devices(_ device: String, count: Int) async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps)
    let (locations, _) = await read(GPSDaemon(port: daemon.port, device: device))
    #expect(locations.count == count)
  }

  @Test("Cancelling the reader closes the connection")
  func cancel() async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps + [.hold])
    let (firsts, first) = AsyncStream.makeStream(of: Location.self)
    let reader = Task {
      for try await location in GPSDaemon(port: daemon.port).locations() { first.yield(location) }
    }
    #expect(await firsts.first { _ in true } != nil)
    reader.cancel()
    await daemon.waitUntilEnded()
    try await reader.value
  }

  private static let version = #"{"class":"VERSION","release":"3.25","rev":"3.25","proto_major":3,"proto_minor":15}"#

  @Test(
    "A server that is not a gpsd of protocol 3, or that refuses, is an error with the reason",
    arguments: [
      ("HTTP/1.1 400 Bad Request\r\n", LocationError.Kind.unknownProtocol, "HTTP/1.1 400 Bad Request"),
      (#"{"class":"VERSION","proto_major":4}"# + "\n", .unknownProtocol, "protocol 4"),
      (#"{"class":"DEVICES","devices":[]}"# + "\n", .unknownProtocol, "version"),
      (version + "\n{\"class\":\"TPV\"", .ended, "closed"),
      (version + "\r\n\r\n" + #"{"class":"ERROR","message":"no such device"}"# + "\n", .refused, "no such device"),
      ("", .ended, "closed"),
    ])
  func strangers(_ text: String, kind: LocationError.Kind, words: String) async throws {
    try await expect(kind, words, after: text)
  }

  @Test(
    "Text from a daemon is shown without control characters and characters that change the direction of text",
    arguments: [
      ("\u{1b}[2J\u{9b}31m\u{202e}kitten\r\n", LocationError.Kind.unknownProtocol),
      (version + "\n" + #"{"class":"ERROR","message":"\u001b[2J\u009b\u202ekitten"}"# + "\n", .refused),
      (#"{"class":"VERSION","release":"\u001b[2J\u009b\u202ekitten","proto_major":4}"# + "\n", .unknownProtocol),
    ])
  func hostile(_ text: String, kind: LocationError.Kind) async throws {
    let daemon = try RecordedDaemon([.send(text)])
    let (_, error) = await read(GPSDaemon(port: daemon.port))
    #expect(error?.kind == kind && error?.description.contains("kitten") == true)
    #expect(error?.description.unicodeScalars.allSatisfy { $0.harmless() == $0 } == true)
  }

  @Test("A line without an end is not kept forever")
  func endless() async throws {
    try await expect(.unknownProtocol, "a line that is too long", after: String(repeating: "x", count: 1 << 17))
  }

  private func expect(_ kind: LocationError.Kind, _ words: String, after text: String) async throws {
    let daemon = try RecordedDaemon([.send(text)])
    let (locations, error) = await read(GPSDaemon(port: daemon.port))
    #expect(error?.kind == kind)
    #expect(error?.description.contains(words) == true, "\(error?.description ?? "no error")")
    #expect(locations == [])
  }

  @Test("Without a daemon, the error names the address")
  func unreachable() async throws {
    let port = try RefusingPort()
    let (_, error) = await read(GPSDaemon(port: UInt16(port.port)))
    #expect(error?.kind == .unreachable)
    #expect(error?.description.contains("127.0.0.1, port \(port.port)") == true)
  }

  @Test("A host that contains a NUL character is not a host, and is not shortened to the part before it")
  func nul() async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps)
    let (locations, error) = await read(GPSDaemon(host: "127.0.0.1\0.example", port: daemon.port))
    #expect(locations.isEmpty && error != nil)
    #expect(daemon.received.isEmpty)
  }
}
