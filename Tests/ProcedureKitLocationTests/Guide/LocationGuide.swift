import ProcedureKit
import ProcedureKitLocation
import Testing

/// The code of the module's guide, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct LocationGuide {
  @Test("A procedure returns one location")
  func one() async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps + [.hold])
    let queue = ProcedureQueue()
    let locate = UserLocation(from: GPSDaemon(port: daemon.port), accuracy: 50, patience: .seconds(10))
    let location = try await queue.run(locate.timeout(.seconds(60)))
    #expect(location.latitude == 46.500166667)
    await daemon.waitUntilEnded()
  }

  @Test("A sequence of locations records a movement")
  func movement() async throws {
    let daemon = try RecordedDaemon(RecordedDaemon.walkSteps + [.hold])
    var track: [Location] = []
    for try await location in GPSDaemon(port: daemon.port).locations() {
      track.append(location)
      if track.count == 5 { break }
    }
    #expect(track.map(\.latitude).min() == 46.500166667)
    await daemon.waitUntilEnded()
  }
}
