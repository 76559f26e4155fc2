/// A token whose text does not appear in any description.
struct BearerToken: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  let text: String

  /// - Returns: `nil` if the text is not a `b64token` according to RFC 6750, and therefore must not be put into a header field.
  init?(_ text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    self.text = text
  }

  /// Reads the value of the header field `Authorization`.
  init?(authorization: String) {
    guard authorization.hasPrefix("Bearer ") else { return nil }
    self.init(String(authorization.dropFirst(7)))
  }

  /// The value of the header field `Authorization`.
  var authorization: String { "Bearer \(text)" }

  var description: String { "a token" }

  var customMirror: Mirror { Mirror(self, children: []) }
}
