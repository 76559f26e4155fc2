/// The header field `Content-Range` of a partial response: `bytes 500-999/1000` (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The bytes of the part.
  let bytes: Range<Int64>
  /// The length of the complete file; `nil` if the server does not know it.
  let total: Int64?

  /// Reads the field. Returns `nil` for any other text.
  init?(_ text: String) {
    guard let match = text.wholeMatch(of: /\s*bytes +(\d{1,18})-(\d{1,18})\/(\d{1,18}|\*)\s*/.ignoresCase()),
      let first = Int64(match.1), let last = Int64(match.2), first <= last
    else { return nil }
    total = Int64(match.3)
    if let total, last >= total { return nil }
    bytes = first..<last + 1
  }
}
