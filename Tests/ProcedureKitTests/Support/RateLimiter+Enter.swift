@testable import ProcedureKit

/// What becomes of somebody who wants to go on, in the end.
enum Entry: Equatable {
  case granted
  case refused(Duration?)
}

extension RateLimiter {
  /// Waits, if that is necessary, until the caller may go on.
  func enter(_ timers: Timers) async throws -> Entry {
    try Task.checkCancellation()
    switch arrive() {
    case .granted: return .granted
    case .refused(let delay): return .refused(delay)
    case .waits(let wait):
      guard await self.wait(for: wait, timers, at: { await $0.wait() }) else { throw CancellationError() }
      return .granted
    }
  }
}
