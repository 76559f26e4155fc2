public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The header field `Retry-After`, which contains a number of seconds or a date (RFC 9110, section 10.2.3).
enum RetryAfter {
  /// Returns the pause that a response asks for; `nil` if the field is missing or invalid. The pause is never negative.
  ///
  /// A date is compared with the `Date` field of the response, because the clocks of the server and the client may differ.
  static func pause(of response: HTTPURLResponse, now: () -> Date) -> Duration? {
    guard let value = response.value(forHTTPHeaderField: "Retry-After")?.trimmingCharacters(in: .whitespaces)
    else { return nil }
    if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      // A number that overflows an integer represents a longer pause than any caller would accept.
      return .seconds(min(Int64(value) ?? .max, 1 << 32))
    }
    guard let date = HTTPDate.date(from: value) else { return nil }
    let present = response.value(forHTTPHeaderField: "Date").flatMap(HTTPDate.date) ?? now()
    return max(.zero, .seconds(date.timeIntervalSince(present)))
  }
}

extension HTTPURLResponse {
  /// Returns the pause that the response asks for in `Retry-After`; `nil` if the field is missing or invalid.
  ///
  /// - Parameter now: The current date. It is used if `Retry-After` contains a date and the response has no `Date` field.
  /// - Returns: The pause, which is never negative.
  public func retryAfter(now: Date = Date()) -> Duration? { RetryAfter.pause(of: self) { now } }
}
