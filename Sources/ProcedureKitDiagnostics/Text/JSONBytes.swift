/// A builder for JSON as bytes. Any Swift string can be encoded as a valid JSON string.
struct JSONBytes {
  private(set) var bytes: [UInt8] = []

  /// Appends text without escaping.
  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ number: some BinaryInteger) {
    bytes.append(contentsOf: String(number).utf8)
  }

  /// Converts a time from nanoseconds to microseconds and appends it, for example `12.345`.
  mutating func append(microseconds nanoseconds: Int64) {
    append(nanoseconds / 1_000)
    let rest = nanoseconds % 1_000
    bytes.append(UInt8(ascii: "."))
    for digit in [rest / 100, rest / 10 % 10, rest % 10] { bytes.append(UInt8(ascii: "0") + UInt8(digit)) }
  }

  /// Appends a string in quotation marks.
  mutating func append(string: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): append("\\n")
      case 0..<0x20, 0x7f:
        append("\\u00")
        for digit in [byte >> 4, byte & 15] { bytes.append(Self.digits[Int(digit)]) }
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Removes and returns all bytes.
  mutating func take() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
