public import Foundation

extension URL {
  /// Creates a URL from text that people or servers have written, such as `http://müller.example/zürich nord|süd`. Characters that a URL
  /// cannot contain are encoded as in browsers.
  ///
  /// Returns `nil` if the text is empty or not a URL. White space around the text, and tabs and line breaks within it, are ignored.
  /// Characters that are already encoded are left unchanged, whereas `URL(string:)` may encode their percent signs.
  ///
  /// - Parameters:
  ///   - text: The URL, or a relative reference.
  ///   - base: The URL against which a relative reference is resolved.
  public init?(lenient text: String, relativeTo base: URL? = nil) {
    let scalars = text.unicodeScalars.filter { ![9, 10, 13].contains($0.value) }
    let isBlank = { (scalar: Unicode.Scalar) in scalar.value <= 32 }
    guard let first = scalars.firstIndex(where: { !isBlank($0) }), let last = scalars.lastIndex(where: { !isBlank($0) })
    else { return nil }
    let bytes = Array(String(String.UnicodeScalarView(scalars[first...last])).utf8)
    let start = Self.authorityEnd(in: bytes)
    // The host is left unchanged, because Foundation itself encodes host names (IDNA).
    let encoded = String(decoding: bytes[..<start], as: UTF8.self) + Self.percentEncoded(bytes[start...])
    guard let url = URL(string: encoded, relativeTo: base)?.absoluteURL else { return nil }
    self = url
  }

  /// Returns the index at which the path starts: after `//host` or `scheme://host`, or at the start of the text.
  private static func authorityEnd(in bytes: [UInt8]) -> Int {
    let scheme = bytes.prefix { ($0.isAlphanumeric || "+-.".utf8.contains($0)) }
    let start = bytes.starts(with: "//".utf8) ? 2 : scheme.count + 3
    guard start == 2 || bytes[scheme.count...].starts(with: "://".utf8) else { return 0 }
    return bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
  }

  private static func percentEncoded(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    var isFragment = false
    for (index, byte) in zip(bytes.indices, bytes) {
      let isAllowed: Bool
      switch byte {
      case UInt8(ascii: "%"): isAllowed = bytes[index...].dropFirst().prefix(2).count { $0.isHexDigit } == 2
      case UInt8(ascii: "#"):
        isAllowed = !isFragment
        isFragment = true
      default: isAllowed = byte.isAlphanumeric || "-._~!$&'()*+,;=:@/?".utf8.contains(byte)
      }
      if isAllowed {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return text
  }

  /// The host name in lower case, without a trailing dot (RFC 3986, section 6.2.2); empty if there is no host.
  public var comparableHost: String {
    let host = (host ?? "").lowercased()
    return host.hasSuffix(".") ? String(host.dropLast()) : host
  }

  /// The port of an HTTP URL. If the URL does not specify a port, this is the default port of the scheme: 80 for `http`, and 443 for
  /// `https`.
  public var effectivePort: Int { port ?? (scheme?.lowercased() == "http" ? 80 : 443) }
}

extension UInt8 {
  var isAlphanumeric: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  fileprivate var isHexDigit: Bool {
    isAlphanumeric && Int(String(Unicode.Scalar(self)), radix: 16) != nil
  }
}
