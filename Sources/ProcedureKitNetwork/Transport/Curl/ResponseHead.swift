import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The head of a response, which consists of the status line and the header fields.
///
/// The bytes are stored as they arrived. A field is converted to a string only when it is requested, because most fields of a small
/// response are never read.
struct ResponseHead {
  let version: String
  let status: Int

  /// A line after the status line, represented by ranges of bytes.
  private struct Line {
    /// The name of the field; `nil` if the line starts with white space and therefore continues the previous field (RFC 9112, section 5.2).
    let name: Range<Int>?
    let value: Range<Int>
  }

  private let bytes: [UInt8]
  private var lines: [Line] = []

  /// Parses the lines of a head, each of which ends with LF or CR LF.
  ///
  /// - Returns: `nil` if the first line is not an HTTP status line.
  init?(_ bytes: [UInt8]) {
    self.bytes = bytes
    var rest = bytes[...]
    let statusLine = rest.removeLine()
    guard let status = Self.status(of: statusLine) else { return nil }
    version = Self.text(statusLine.prefix { $0 != UInt8(ascii: " ") })
    self.status = status
    // The exact capacity is reserved because a caller may keep thousands of responses.
    lines.reserveCapacity(bytes.count { $0 == UInt8(ascii: "\n") })
    while !rest.isEmpty {
      let line = rest.removeLine()
      guard let first = line.first else { continue }
      if first == 32 || first == 9 {
        if !lines.isEmpty { lines.append(Line(name: nil, value: Self.trimmed(line).indices)) }
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        let value = Self.trimmed(line[(colon + 1)...])
        lines.append(Line(name: Self.trimmed(line[..<colon]).indices, value: value.indices))
      }
    }
  }

  /// The values of the fields, keyed by name. Each name is spelled as the server first sent it.
  var fields: [String: String] {
    var linesByName: [String: [Line]] = [:]
    var small = ""
    for line in lines {
      if let name = line.name { small = Self.text(bytes[name]).lowercased() }
      linesByName[small, default: []].append(line)
    }
    return Dictionary(
      linesByName.map { small, lines in
        let name = lines.first?.name.map { Self.text(bytes[$0]) } ?? small
        return (version.hasPrefix("HTTP/1") ? name : Self.capitalized(name), value(of: small, in: lines))
      }
    ) { first, _ in first }
  }

  /// Returns the value of the field with the given name. Names are not case-sensitive.
  func value(of name: String) -> String? {
    guard let first = lines.firstIndex(where: { isNamed(name, $0) == true }) else { return nil }
    var fieldLines = lines[first...first]
    var hasName = true
    for line in lines[(first + 1)...] {
      hasName = isNamed(name, line) ?? hasName
      if hasName { fieldLines.append(line) }
    }
    return value(of: name, in: fieldLines)
  }

  /// Returns whether a line starts the field with the given name; `nil` for a line that continues the previous field.
  private func isNamed(_ name: String, _ line: Line) -> Bool? {
    guard let other = line.name else { return nil }
    return other.count == name.utf8.count && bytes[other].elementsEqual(name.utf8, by: Self.isSameLetter)
  }

  /// Returns the lines of a field, joined with commas. A line that continues the previous one is joined with a space.
  private func value(of name: String, in lines: some Collection<Line>) -> String {
    var value = lines.first.map { Self.text(bytes[$0.value]) } ?? ""
    for line in lines.dropFirst() { value += (line.name == nil ? " " : ", ") + Self.text(bytes[line.value]) }
    // Foundation takes 0.2 s to find the file name in a value of 100 KB, and far longer in a longer one.
    guard value.utf8.count > Self.parsedLimit,
      ["content-type", "content-disposition"].contains(name.lowercased())
    else { return value }
    return String(decoding: value.utf8.prefix(Self.parsedLimit), as: UTF8.self)
  }

  /// The maximum number of bytes of a `Content-Type` or `Content-Disposition` value that Foundation parses. Longer values are truncated.
  private static let parsedLimit = 8 << 10

  /// Returns the status in a status line, parsed by libcurl's rules; `nil` if the line is not a status line.
  static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let rest = line.dropFirst(5).drop { isDigit($0) || $0 == UInt8(ascii: ".") }
    guard rest.first == UInt8(ascii: " ") else { return nil }
    let digits = rest.drop { $0 == UInt8(ascii: " ") }.prefix(while: isDigit)
    guard digits.count == 3 else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  /// The codings of the body in lower case, in the order in which they were applied.
  ///
  /// The list contains neither `identity` nor words that are not codings, such as `utf-8`, which some servers send.
  var codings: [String] {
    guard let value = value(of: "Content-Encoding") else { return [] }
    let words = value.lowercased().split(separator: ",")
    let names = words.map { $0.trimmingCharacters(in: .whitespaces) }.filter { Self.knownCodings.contains($0) }
    return names.map(Self.usualName)
  }

  /// Returns the usual name of a coding. `x-gzip` and `x-compress` are other names for `gzip` and `compress` (RFC 9110, section 8.4.1).
  static func usualName(ofCoding name: String) -> String {
    ["x-gzip", "x-compress"].contains(name) ? String(name.dropFirst(2)) : name
  }

  /// The codings that are registered with IANA, and the codings whose registration is pending.
  private static let knownCodings: Set = [
    "aes128gcm", "br", "compress", "x-compress", "dcb", "dcz", "deflate", "exi", "gzip", "x-gzip", "pack200-gzip",
    "zstd",
  ]

  /// Whether `Content-Length` and `Transfer-Encoding` leave no doubt about where the body ends (RFC 9112, section 6.3).
  var hasValidLength: Bool {
    guard let text = value(of: "Content-Length"), value(of: "Transfer-Encoding") == nil else { return true }
    if text.utf8.allSatisfy(Self.isDigit) { return Int64(text) != nil }
    let lengths = text.utf8.split(separator: UInt8(ascii: ",")).map { Substring(Self.trimmed($0)) }
    // Several equal lengths are treated as one.
    guard let length = lengths.first, lengths.allSatisfy({ $0 == length }) else { return false }
    return length.utf8.allSatisfy(Self.isDigit) && Int64(length) != nil
  }

  /// Returns the length of the body in bytes; `nil` if the head does not specify it. The length also depends on the method of the request.
  func announcedLength(to method: String) -> Int64? {
    if method == "HEAD" || [204, 304].contains(status) { return 0 }
    guard hasValidLength, value(of: "Transfer-Encoding") == nil, let text = value(of: "Content-Length") else {
      return nil
    }
    return text.split(separator: ",").first.flatMap { Int64($0.trimmingCharacters(in: .whitespaces)) }
  }

  // MARK: Bytes

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

  /// Returns whether two bytes are equal, or are the upper-case and lower-case forms of the same ASCII letter.
  private static func isSameLetter(_ left: UInt8, _ right: UInt8) -> Bool {
    left == right || left ^ right == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(left | 0x20)
  }

  private static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
    let start = bytes.drop { $0 == 32 || $0 == 9 }
    guard let end = start.lastIndex(where: { $0 != 32 && $0 != 9 && $0 != 13 }) else { return bytes.prefix(0) }
    return bytes[start.startIndex...end]
  }

  /// Decodes bytes as UTF-8 or, if they are not valid UTF-8, as Latin-1, in which every byte is valid.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    if bytes.allSatisfy({ $0 < 128 }) { return String(decoding: bytes, as: UTF8.self) }
    return String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Returns the usual spelling of a name that arrived in lower case, as in HTTP/2. For example, `content-type` becomes `Content-Type`.
  private static func capitalized(_ name: String) -> String {
    var result = ""
    var isFirst = true
    for character in name {
      result += isFirst ? character.uppercased() : String(character)
      isFirst = character == "-"
    }
    return result
  }
}

extension ArraySlice<UInt8> {
  /// Removes the first line, and returns it without its terminator, which is LF or CR LF.
  fileprivate mutating func removeLine() -> ArraySlice<UInt8> {
    let end = firstIndex(of: UInt8(ascii: "\n")) ?? endIndex
    let line = self[..<end]
    self = self[end...].dropFirst()
    return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
  }
}
