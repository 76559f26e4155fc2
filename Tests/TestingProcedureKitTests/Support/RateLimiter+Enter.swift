@testable import ProcedureKit

/// The result of waiting for a rate limiter.
enum Entry: Equatable {
  case granted
  case refused(Duration?)
}

extension RateLimiter {
  /// Waits until the limiter admits the call, and returns the result.
  func enter(_ timers: Timers) async throws -> Entry {
    try Task.checkCancellation()
    switch arrive() {
    case .granted: return .granted
    case .refused(let end): return .refused(end.map(time.remaining(until:)))
    case .waiting(let ticket):
      guard await self.wait(for: ticket, timers, at: { await $0.wait() }) else { throw CancellationError() }
      return .granted
    }
  }
}
