import ProcedureKit

/// A JSON parser (RFC 8259) that records the position of each value. Foundation's decoder does not report positions.
///
/// A string can contain a file name that is not UTF-8. In this case, the escapes `\udc80` to `\udcff`, which are not characters, represent
/// the bytes 0x80 to 0xff. Python writes such names in the same way (PEP 383, `surrogateescape`).
struct JSONReader {
  /// The maximum depth of nested lists and objects. The limit keeps a file from exhausting the stack.
  private static let greatestDepth = 100

  /// The bytes that some editors write at the start of a UTF-8 file. They are skipped.
  static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

  private let bytes: [UInt8]
  private var index = 0
  private var depth = 0

  /// Parses a JSON text, which contains a single value.
  ///
  /// - Throws: The first ``Problem`` in the text, if there is one.
  static func value(in bytes: [UInt8]) throws(Problem) -> JSONValue {
    var reader = JSONReader(bytes: bytes)
    let value = try reader.value()
    if let byte = reader.nextByte() { throw reader.unexpected(byte, "the end of the file") }
    return value
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
    index = bytes.starts(with: Self.byteOrderMark) ? Self.byteOrderMark.count : 0
  }

  // MARK: Values

  private mutating func value() throws(Problem) -> JSONValue {
    guard let byte = nextByte() else { throw ended("a value") }
    let start = index
    let content: JSONValue.Content
    switch byte {
    case UInt8(ascii: "{"): content = .object(try nested { (reader) throws(Problem) in try reader.members() })
    case UInt8(ascii: "["): content = .array(try nested { (reader) throws(Problem) in try reader.elements() })
    case UInt8(ascii: "\""): content = .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): content = .number(try number())
    case UInt8(ascii: "a")...UInt8(ascii: "z"): content = try word()
    default: throw unexpected(byte, "a value")
    }
    return JSONValue(content: content, offset: start)
  }

  private mutating func nested<R>(_ body: (inout JSONReader) throws(Problem) -> R) throws(Problem) -> R {
    guard depth < Self.greatestDepth else {
      throw Problem(offset: index, message: "lists and objects are nested more than \(Self.greatestDepth) levels deep")
    }
    index += 1
    depth += 1
    let result = try body(&self)
    depth -= 1
    return result
  }

  private mutating func members() throws(Problem) -> [JSONValue.Member] {
    var (members, keys): ([JSONValue.Member], Set<SystemText>) = ([], [])
    try list(until: "}") { (reader) throws(Problem) in
      guard let byte = reader.nextByte() else { throw reader.ended("a key") }
      guard byte == UInt8(ascii: "\"") else { throw reader.unexpected(byte, "a key in quotation marks") }
      let offset = reader.index
      let key = try reader.string()
      guard keys.insert(key).inserted else { throw Problem(offset: offset, message: "the key \"\(key)\" occurs twice") }
      try reader.take(":", or: "a colon after the key \"\(key)\"")
      members.append(JSONValue.Member(key: key, offset: offset, value: try reader.value()))
    }
    return members
  }

  private mutating func elements() throws(Problem) -> [JSONValue] {
    var elements: [JSONValue] = []
    try list(until: "]") { (reader) throws(Problem) in elements.append(try reader.value()) }
    return elements
  }

  private mutating func list(
    until end: Character, _ element: (inout JSONReader) throws(Problem) -> Void
  ) throws(Problem) {
    let end = end.asciiValue
    if nextByte() == end {
      index += 1
      return
    }
    while true {
      try element(&self)
      if nextByte() == end {
        index += 1
        return
      }
      try take(",", or: "a comma or the end of the list")
    }
  }

  private mutating func word() throws(Problem) -> JSONValue.Content {
    let rest = bytes[index...]
    let word = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    defer { index += word.count }
    switch String(decoding: word, as: UTF8.self) {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "null": return .null
    case let other:
      throw Problem(offset: index, message: "\"\(other.prefix(40))\" is not a value. Strings need quotation marks")
    }
  }

  private mutating func number() throws(Problem) -> Double {
    let characters = bytes[index...].prefix { "+-.eE0123456789".utf8.contains($0) }
    let text = String(decoding: characters, as: UTF8.self)
    guard text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil,
      let number = Double(text), number.isFinite
    else { throw Problem(offset: index, message: "\"\(text.prefix(40))\" is not a number") }
    index += characters.count
    return number
  }

  // MARK: Strings

  private mutating func string() throws(Problem) -> SystemText {
    let start = index
    index += 1
    // Most strings have no escapes, and are used without decoding.
    let end =
      bytes[index...].firstIndex { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 } ?? bytes.count
    var text = bytes[index..<end]
    index = end
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard String(validating: bytes[start..<index], as: UTF8.self) != nil else {
          throw Problem(
            offset: start, message: "the string is not UTF-8. Use \\udc80 to \\udcff for bytes that are not UTF-8")
        }
        return SystemText(bytes: text)
      case UInt8(ascii: "\\"): text += try escape()
      case 0..<0x20:
        throw Problem(offset: index - 1, message: "a line break or control character in a string. Is a \" missing?")
      default: text.append(byte)
      }
    }
    throw Problem(offset: start, message: "the string has no closing quotation mark")
  }

  private mutating func escape() throws(Problem) -> [UInt8] {
    let start = index - 1
    guard index < bytes.count else { throw ended("the rest of the string") }
    let byte = bytes[index]
    index += 1
    if let plain = Self.escapes[byte] { return [plain] }
    guard byte == UInt8(ascii: "u"), var code = hexadecimal() else {
      throw Problem(offset: start, message: "JSON has no such escape sequence")
    }
    if (0xD800..<0xDC00).contains(code), bytes[index...].starts(with: "\\u".utf8) {
      index += 2
      guard let low = hexadecimal(), (0xDC00..<0xE000).contains(low) else {
        throw Problem(offset: start, message: "an unpaired surrogate")
      }
      code = 0x10000 + (code - 0xD800) << 10 + low - 0xDC00
    }
    if (0xDC80..<0xDD00).contains(code) { return [UInt8(code - 0xDC00)] }
    guard let scalar = Unicode.Scalar(code) else { throw Problem(offset: start, message: "an unpaired surrogate") }
    return Array(String(scalar).utf8)
  }

  private static let escapes: [UInt8: UInt8] = [
    UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
    UInt8(ascii: "/"): UInt8(ascii: "/"),
    UInt8(ascii: "b"): 0x8, UInt8(ascii: "f"): 0xc, UInt8(ascii: "n"): UInt8(ascii: "\n"),
    UInt8(ascii: "r"): UInt8(ascii: "\r"),
    UInt8(ascii: "t"): UInt8(ascii: "\t"),
  ]

  private mutating func hexadecimal() -> UInt32? {
    let digits = bytes[index...].prefix(4)
    guard digits.count == 4, !digits.contains(UInt8(ascii: "+")), !digits.contains(UInt8(ascii: "-")) else {
      return nil
    }
    index += 4
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  // MARK: Bytes

  /// Skips white space, and returns the next byte without consuming it, or `nil` at the end.
  private mutating func nextByte() -> UInt8? {
    while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
    return index < bytes.count ? bytes[index] : nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): true
    default: false
    }
  }

  private mutating func take(_ character: Character, or expected: @autoclosure () -> String) throws(Problem) {
    guard let byte = nextByte() else { throw ended(expected()) }
    guard byte == character.asciiValue else { throw unexpected(byte, expected()) }
    index += 1
  }

  private func ended(_ expected: String) -> Problem {
    Problem(offset: bytes.count, message: "expected \(expected), but found the end of the file")
  }

  private func unexpected(_ byte: UInt8, _ expected: String) -> Problem {
    let found = (0x21..<0x7f).contains(byte) ? "'\(Character(Unicode.Scalar(byte)))'" : "an unknown character"
    return Problem(offset: index, message: "expected \(expected), but found \(found)")
  }
}
