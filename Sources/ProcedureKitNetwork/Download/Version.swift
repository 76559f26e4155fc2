import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The version of a file, which identifies its contents byte for byte.
struct Version: Equatable {
  /// The strong `ETag`.
  let tag: String?
  /// The `Last-Modified` date, if it identifies the version.
  let date: String?

  /// Reads the version from a response that contains the complete file. Returns `nil` if parts of the file cannot be requested, or if the
  /// response does not identify the version.
  init?(_ response: HTTPURLResponse) {
    // The received bytes are decompressed, so their count is not a position in the compressed body.
    guard !response.isEncoded, response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" else {
      return nil
    }
    let tag = response.value(forHTTPHeaderField: "ETag")
    // A weak tag does not identify the exact bytes, and neither does the date that accompanies it.
    if let tag, !tag.hasPrefix("\"") || !tag.isHTTPFieldValue { return nil }
    self.tag = tag
    date = response.strongDate
    if tag == nil, date == nil { return nil }
  }

  /// The value of `If-Range` for requesting the rest of the file (RFC 9110, section 13.1.5).
  var validator: String? { tag ?? date }

  /// Returns whether a part belongs to this version. The result is `false` if the part has neither a tag nor a date, because it could then
  /// belong to any version.
  func isSame(as part: HTTPURLResponse) -> Bool {
    guard !part.isEncoded else { return false }
    if let tag, let other = part.value(forHTTPHeaderField: "ETag") { return Array(tag.utf8) == Array(other.utf8) }
    guard let date, let other = part.value(forHTTPHeaderField: "Last-Modified") else { return false }
    return Array(date.utf8) == Array(other.utf8)
  }
}

extension HTTPURLResponse {
  fileprivate var isEncoded: Bool {
    value(forHTTPHeaderField: "Content-Encoding").map { $0.lowercased() != "identity" } ?? false
  }

  /// The date of the last modification, if it identifies the version. The date does not identify the version if the file was modified less
  /// than a second before the response.
  fileprivate var strongDate: String? {
    guard let modified = value(forHTTPHeaderField: "Last-Modified"), modified.isHTTPFieldValue,
      let change = HTTPDate.date(from: modified),
      let present = value(forHTTPHeaderField: "Date").flatMap(HTTPDate.date),
      change.addingTimeInterval(1) <= present
    else { return nil }
    return modified
  }
}
