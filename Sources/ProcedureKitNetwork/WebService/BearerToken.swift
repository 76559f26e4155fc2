/// A token whose text never appears in descriptions.
struct BearerToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  let text: String

  /// Creates a token. Returns `nil` if the text is empty, or contains characters that must not appear in the header field (RFC 6750).
  init?(_ text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    self.text = text
  }

  /// Parses the value of the header field `Authorization`.
  init?(authorization: String) {
    guard authorization.hasPrefix("Bearer ") else { return nil }
    self.init(String(authorization.dropFirst(7)))
  }

  /// The value of the header field `Authorization`.
  var authorization: String { "Bearer \(text)" }

  var description: String { "a token" }

  var customMirror: Mirror { Mirror(self, children: []) }
}
