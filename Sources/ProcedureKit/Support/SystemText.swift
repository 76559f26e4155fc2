/// Text for the operating system, such as a path, an argument or an environment variable. The system treats such text as bytes, which need
/// not be UTF-8.
///
/// System text can be written as a literal. An interpolation preserves the bytes of any system text that it contains:
///
/// ```swift
/// let file: SystemText = "\(folder)/kitten.ppm"
/// ```
///
/// Two values are equal if their bytes are equal. The composed and decomposed forms of `é` are therefore different file names, even though
/// they are equal as `String` values.
public struct SystemText:
  Hashable, Comparable, Codable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible
{
  /// The bytes, without a terminating NUL character.
  public let bytes: [UInt8]

  /// Creates system text from its bytes.
  public init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Creates system text from a string, encoded as UTF-8 without normalization.
  public init(_ text: some StringProtocol) {
    bytes = Array(text.utf8)
  }

  /// Creates system text from a literal, encoded as UTF-8.
  public init(stringLiteral text: String) {
    bytes = Array(text.utf8)
  }

  /// Creates system text from an interpolation.
  public init(stringInterpolation interpolation: Interpolation) {
    bytes = interpolation.bytes
  }

  /// Creates system text from a C string, which ends at the first NUL character.
  package init(cString: UnsafePointer<CChar>) {
    var count = 0
    while cString[count] != 0 { count += 1 }
    bytes = UnsafeBufferPointer(start: cString, count: count).map(UInt8.init(bitPattern:))
  }

  /// The text in a printable form.
  ///
  /// Bytes that are not valid UTF-8 are written in hexadecimal: `caf\xe9`. The same applies to the bytes of characters that control a
  /// terminal or change the direction of text.
  public var description: String {
    if bytes.allSatisfy({ (0x20..<0x7f).contains($0) }) { return String(decoding: bytes, as: UTF8.self) }
    var (parser, iterator, position) = (UTF8.ForwardParser(), bytes.makeIterator(), 0)
    var description = ""
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded):
        let scalar = UTF8.decode(encoded)
        let end = position + encoded.count
        if scalar.harmless() == scalar {
          description.unicodeScalars.append(scalar)
        } else {
          description += Self.hexadecimal(bytes[position..<end])
        }
        position = end
      case .error(let length):
        description += Self.hexadecimal(bytes[position..<position + length])
        position += length
      case .emptyInput: return description
      }
    }
  }

  private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The text as a string; `nil` if the bytes are not UTF-8.
  public var string: String? { String(validating: bytes, as: UTF8.self) }

  /// Whether the text has no bytes.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Whether the bytes contain a NUL character. If they do, the system uses only the bytes before the first one.
  package var containsZero: Bool { bytes.contains(0) }

  /// The path of the folder that contains this file or folder, without a trailing slash.
  ///
  /// The value is `nil` for the root folder and for a name without a slash.
  package var parentFolder: SystemText? {
    guard let end = bytes.lastIndex(of: UInt8(ascii: "/")), bytes.count > 1 else { return nil }
    return SystemText(bytes: bytes[..<max(end, 1)])
  }

  /// Calls a function with the bytes, followed by a NUL character.
  ///
  /// - Precondition: The bytes do not contain a NUL character.
  package func withCString<R, E: Error>(_ body: (UnsafePointer<CChar>) throws(E) -> R) throws(E) -> R {
    precondition(!containsZero, "\(description) contains a NUL character, at which the system would truncate it")
    let characters = bytes.map(CChar.init(bitPattern:)) + [0]
    return try characters.withUnsafeBufferPointer { buffer throws(E) -> R in
      guard let start = buffer.baseAddress else {
        preconditionFailure("an array that ends with a NUL character cannot be empty")
      }
      return try body(start)
    }
  }

  /// Orders system text by its bytes.
  public static func < (first: SystemText, second: SystemText) -> Bool {
    first.bytes.lexicographicallyPrecedes(second.bytes)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  /// The bytes of an interpolation: the unchanged bytes of system text, and the UTF-8 encoding of other values.
  public struct Interpolation: StringInterpolationProtocol {
    fileprivate var bytes: [UInt8] = []

    /// Creates an interpolation without bytes.
    public init(literalCapacity: Int, interpolationCount: Int) {
      bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    /// Appends a part of the literal.
    public mutating func appendLiteral(_ literal: String) { bytes += literal.utf8 }

    /// Appends the bytes of system text.
    public mutating func appendInterpolation(_ text: SystemText) { bytes += text.bytes }

    /// Appends the description of a value.
    public mutating func appendInterpolation(_ value: some Any) { bytes += "\(value)".utf8 }
  }
}
