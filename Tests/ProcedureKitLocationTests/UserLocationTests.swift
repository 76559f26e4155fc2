import Foundation
import ProcedureKit
import ProcedureKitLocation
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct UserLocationTests {
  @Test(
    "The first location with the required accuracy is the value",
    arguments: [(nil, 1.0), (100, 2), (10, 3)] as [(Double?, Double)])
  func accuracy(_ accuracy: Double?, latitude: Double) async throws {
    let source = FakeSource()
    source.report(.location(1, accuracy: nil), .location(2, accuracy: 100), .location(3, accuracy: 10))
    #expect(try await UserLocation(from: source, accuracy: accuracy)().latitude == latitude)
  }

  @Test("When the patience expires, the most accurate location so far is the value")
  func patience() async throws {
    let (source, clock) = (FakeSource(), VirtualClock())
    let queue = ProcedureQueue()
    let handle = queue.add(UserLocation(from: source, accuracy: 5, patience: .seconds(10), clock: clock))
    source.report(.location(1, accuracy: nil), .location(2, accuracy: 20), .location(3, accuracy: 50))
    await source.waitUntilRead(3)
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(10))
    #expect(try await handle.value.latitude == 2)
    await source.waitUntilLeft()
  }

  @Test("When the patience expires without any location, the next one is the value")
  func late() async throws {
    let (source, clock) = (FakeSource(), VirtualClock())
    let handle = ProcedureQueue().add(UserLocation(from: source, accuracy: 5, patience: .seconds(1), clock: clock))
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(1))
    source.report(.location(1, accuracy: 500))
    #expect(try await handle.value.latitude == 1)
  }

  @Test(
    "The patience can have any length",
    arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max), .seconds(-1), Duration(attoseconds: .min)])
  func extremes(_ patience: Duration) async throws {
    let source = FakeSource()
    let handle = ProcedureQueue().add(UserLocation(from: source, accuracy: 5, patience: patience))
    await source.waitUntilStarted()
    source.report(.location(1, accuracy: 1))
    #expect(try await handle.value.latitude == 1)
  }

  @Test("A source that ends or fails is an error")
  func ending() async throws {
    let source = FakeSource()
    source.report(.location(1, accuracy: 500))
    source.end()
    let error = await #expect(throws: LocationError.self) { try await UserLocation(from: source, accuracy: 5)() }
    #expect(error?.kind == .ended)
    let failing = FakeSource()
    failing.end(URLError(.timedOut))
    await #expect(throws: URLError.self) { try await UserLocation(from: failing)() }
  }

  @Test("A cancellation ends the measurement, even that of a body in its caller's task", arguments: [true, false])
  func cancel(isAdded: Bool) async throws {
    let (source, queue) = (FakeSource(), ProcedureQueue())
    let locating = Task {
      try await isAdded ? queue.add(UserLocation(from: source)).value : queue.run(UserLocation(from: source))
    }
    await source.waitUntilStarted()
    queue.cancelAll()
    await #expect(throws: CancellationError.self) { try await locating.value }
    await source.waitUntilLeft()
  }

  @Test("A timeout ends the measurement")
  func timeout() async throws {
    let (source, clock) = (FakeSource(), VirtualClock())
    var configuration = ProcedureQueue.Configuration()
    configuration.clock = clock
    let handle = ProcedureQueue(configuration).add(UserLocation(from: source).timeout(.seconds(3)))
    _ = try await clock.nextSleep()
    await source.waitUntilStarted()
    clock.advance(by: .seconds(3))
    #expect(await handle.outcome.procedureError?.kind == .timedOut)
    await source.waitUntilLeft()
  }
}

extension Location {
  fileprivate static func location(_ latitude: Double, accuracy: Double?) -> Location {
    Location(
      latitude: latitude, longitude: 0, horizontalAccuracy: accuracy, timestamp: Date(timeIntervalSince1970: 0))
  }
}
