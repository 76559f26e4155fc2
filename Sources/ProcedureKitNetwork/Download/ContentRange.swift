/// The header field `Content-Range` of a partial response, such as `bytes 500-999/1000` (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The range of bytes that the part contains.
  let bytes: Range<Int64>
  /// The length of the complete file; `nil` if it is unknown to the server.
  let total: Int64?

  /// Parses a value such as `bytes 500-999/1000`. Returns `nil` if the value does not have this form.
  init?(_ text: String) {
    guard let match = text.wholeMatch(of: /\s*bytes +(\d{1,18})-(\d{1,18})\/(\d{1,18}|\*)\s*/.ignoresCase()),
      let first = Int64(match.1), let last = Int64(match.2), first <= last
    else { return nil }
    total = Int64(match.3)
    if let total, last >= total { return nil }
    bytes = first..<last + 1
  }
}
