public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The header field `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// Returns the pause that a response asks for, at least zero; `nil` without the field, or if the field makes no sense.
  ///
  /// A date is compared with the `Date` of the response, so that the clocks of server and client may differ.
  static func pause(of response: HTTPURLResponse, now: () -> Date) -> Duration? {
    guard let value = response.value(forHTTPHeaderField: "Retry-After")?.trimmingCharacters(in: .whitespaces)
    else { return nil }
    if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      // More digits than a number has mean a pause that no caller waits for.
      return .seconds(min(Int64(value) ?? .max, 1 << 32))
    }
    guard let date = HTTPDate.date(from: value) else { return nil }
    let present = response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.date) ?? now()
    return max(.zero, .seconds(date.timeIntervalSince(present)))
  }
}

extension HTTPURLResponse {
  /// Returns the pause that the response asks for by `Retry-After`, at least zero; `nil` without the field, or if the field makes no sense.
  ///
  /// - Parameter now: The present date, for a `Retry-After` with a date in a response without one.
  /// - Returns: The pause.
  public func retryAfter(now: Date = Date()) -> Duration? { RetryAfter.pause(of: self) { now } }
}
