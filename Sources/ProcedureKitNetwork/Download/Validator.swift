import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPURLResponse {
  /// The value of `If-Range` with which the rest of this body can be asked for (RFC 9110, section 13.1.5); `nil` if the server
  /// does not serve parts, or does not identify the version byte for byte.
  var rangeValidator: String? {
    let encoding = value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? "identity"
    // The bytes that have come are decompressed, and tell nothing about the place in the compressed body.
    guard encoding == "identity", value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" else { return nil }
    if let tag = value(forHTTPHeaderField: "ETag") { return tag.hasPrefix("\"") ? tag : nil }
    // A date identifies a version only if the version was not new when the response was made.
    guard let modified = value(forHTTPHeaderField: "Last-Modified"), let change = HTTPDate.date(from: modified),
      let present = value(forHTTPHeaderField: "Date").flatMap(HTTPDate.date), change.addingTimeInterval(1) <= present
    else { return nil }
    return modified
  }
}
