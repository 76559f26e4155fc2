import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The head of a response: the status line and the header fields.
struct ResponseHead {
  let version: String
  let status: Int
  /// The values by the names as the server has spelt them first; several values of one name are joined by a comma.
  private(set) var fields: [String: String] = [:]
  /// The spellings of the names in small letters.
  private var spellings: [String: String] = [:]

  /// Reads the lines of a head, which end with LF or CR LF.
  ///
  /// - Returns: `nil` if the first line is no status line of HTTP.
  init?(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n")).map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    let words = lines.first?.split(separator: UInt8(ascii: " "), maxSplits: 2) ?? []
    guard words.count >= 2, let status = Self.status(of: lines.first ?? []) else { return nil }
    version = Self.text(words[0])
    self.status = status
    var last: String?
    for line in lines.dropFirst() where !line.isEmpty {
      // A line that begins with white space continues the field before (RFC 9112, section 5.2).
      if let first = line.first, first == 32 || first == 9 {
        if let last { fields[last, default: ""] += " " + Self.text(Self.trimmed(line)) }
        continue
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = Self.text(Self.trimmed(line[..<colon]))
      let value = Self.text(Self.trimmed(line[line.index(after: colon)...]))
      let small = name.lowercased()
      if let spelling = spellings[small] {
        fields[spelling, default: ""] += ", " + value
        last = spelling
      } else {
        let spelling = version.hasPrefix("HTTP/1") ? name : Self.capitalized(name)
        spellings[small] = spelling
        fields[spelling] = value
        last = spelling
      }
    }
  }

  /// The three digits after the version; `nil` if the line is no status line.
  static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    let digits = line[line.index(after: space)...].prefix { (48...57).contains($0) }
    guard digits.count == 3 else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  /// Returns the value of a field, whose name is compared without regard to case.
  func value(of name: String) -> String? {
    spellings[name.lowercased()].flatMap { fields[$0] }
  }

  /// The codings of the body in the order of their application, in small letters, without `identity` and without words that name no coding
  /// (some servers send `utf-8`). `x-gzip` is another name of `gzip` (RFC 9110, section 8.4.1.3).
  var codings: [String] {
    guard let value = value(of: "Content-Encoding") else { return [] }
    let words = value.lowercased().split(separator: ",")
    let names = words.map { $0.trimmingCharacters(in: .whitespaces) }.filter { Self.knownCodings.contains($0) }
    return names.map { $0 == "x-gzip" ? "gzip" : $0 }
  }

  /// The codings that IANA has registered, with those in preparation.
  private static let knownCodings: Set = [
    "aes128gcm", "br", "compress", "x-compress", "dcb", "dcz", "deflate", "exi", "gzip", "x-gzip", "pack200-gzip",
    "zstd",
  ]

  /// Whether `Content-Length` and `Transfer-Encoding` allow to see where the body ends (RFC 9112, section 6.3).
  var hasValidLength: Bool {
    guard let text = value(of: "Content-Length"), value(of: "Transfer-Encoding") == nil else { return true }
    // Several equal lengths count as one.
    let lengths = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    guard let length = lengths.first, lengths.count == 1 else { return false }
    return length.utf8.allSatisfy { (48...57).contains($0) } && Int64(length) != nil
  }

  // MARK: Bytes

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let start = bytes.drop { $0 == 32 || $0 == 9 }
    guard let end = start.lastIndex(where: { $0 != 32 && $0 != 9 && $0 != 13 }) else { return [] }
    return start[...end]
  }

  /// UTF-8, and otherwise Latin-1, which any bytes are.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// The usual spelling of a name that comes in small letters, as in HTTP/2: `Content-Type`.
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
