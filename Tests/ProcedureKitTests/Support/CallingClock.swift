import TestingProcedureKit

/// A clock that calls a task-local function whenever it is read.
struct CallingClock: Clock {
  @TaskLocal static var call: (@Sendable () -> Void)?
  let clock = VirtualClock()

  var now: VirtualClock.Instant {
    Self.call?()
    return clock.now
  }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}
