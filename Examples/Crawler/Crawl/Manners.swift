import Foundation
import ProcedureKit

/// The manners towards one host: a rate of requests, and a breaker that leaves a failing host alone.
struct Manners: Sendable {
  let limiter: RateLimiter
  let breaker: CircuitBreaker

  init(host: String, _ limits: Limits) {
    limiter = RateLimiter(limits.rate, per: .seconds(1), burst: limits.perHost)
    breaker = CircuitBreaker(
      host, failureRatio: 0.9, minimumCalls: 5, window: .seconds(60), cooldown: .seconds(30))
  }

  /// The manners towards each host of the addresses.
  static func towardsHosts(of addresses: [URL], _ limits: Limits) -> [String: Manners] {
    Dictionary(uniqueKeysWithValues: Set(addresses.map(\.hostAndPort)).map { ($0, Manners(host: $0, limits)) })
  }
}

extension URL {
  var hostAndPort: String { "\(host ?? "")\(port.map { ":\($0)" } ?? "")" }

  /// The address for the user, without a name and a password.
  var shown: String {
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.user = nil
    parts?.password = nil
    return parts?.string ?? hostAndPort
  }
}
