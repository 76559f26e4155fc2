import ProcedureKit
import TestSupport
import TestingProcedureKit

/// A queue whose time moves only through the pauses of its procedures.
struct PausedTime {
  let clock = VirtualClock()
  let queue: ProcedureQueue

  init(log: LogCollector? = nil) {
    var configuration = ProcedureQueue.Configuration("network")
    configuration.clock = clock
    configuration.seed = 1
    configuration.onUnobservedFailure = { _ in }
    configuration.log = log.map { ProcedureLog(level: .trace, to: $0) }
    queue = ProcedureQueue(configuration)
  }

  /// Waits for the next pause, ends it, and returns its duration.
  func endPause() async throws -> Duration {
    let end = try await clock.nextSleep()
    defer { clock.advance(to: end) }
    return clock.now.duration(to: end)
  }
}
