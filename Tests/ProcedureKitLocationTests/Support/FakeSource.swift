import ProcedureKitLocation

/// A source with one subscription, whose locations a test chooses.
final class FakeSource: LocationSource {
  private let stream: AsyncThrowingStream<Location, any Error>
  private let continuation: AsyncThrowingStream<Location, any Error>.Continuation
  private let read: AsyncStream<Void>
  private let didRead: AsyncStream<Void>.Continuation
  private let started: AsyncStream<Never>
  private let didStart: AsyncStream<Never>.Continuation
  private let left: AsyncStream<Never>

  init() {
    (stream, continuation) = AsyncThrowingStream.makeStream()
    (read, didRead) = AsyncStream.makeStream()
    (started, didStart) = AsyncStream.makeStream()
    let (left, didLeave) = AsyncStream.makeStream(of: Never.self)
    self.left = left
    continuation.onTermination = { _ in didLeave.finish() }
  }

  func locations() -> any AsyncSequence<Location, any Error> {
    didStart.finish()
    return stream.map { [didRead] location in
      didRead.yield()
      return location
    }
  }

  func report(_ locations: Location...) {
    for location in locations { continuation.yield(location) }
  }

  func end(_ error: (any Error)? = nil) { continuation.finish(throwing: error) }

  func waitUntilStarted() async { for await _ in started {} }

  /// Waits until the given number of locations have been read.
  func waitUntilRead(_ count: Int) async { for await _ in read.prefix(count) {} }

  func waitUntilLeft() async { for await _ in left {} }
}
