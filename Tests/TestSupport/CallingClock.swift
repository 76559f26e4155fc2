package import TestingProcedureKit

/// A clock that calls a task-local function whenever it is read.
package struct CallingClock: Clock {
  @TaskLocal package static var call: (@Sendable () -> Void)?
  package let clock = VirtualClock()

  package init() {}

  package var now: VirtualClock.Instant {
    Self.call?()
    return clock.now
  }
  package var minimumResolution: Duration { .zero }

  package func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}
