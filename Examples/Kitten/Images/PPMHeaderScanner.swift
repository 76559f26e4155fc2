/// A scanner that reads the tokens of a PPM header, in order.
struct PPMHeaderScanner {
  let bytes: [UInt8]

  /// Whether the bytes are the whole file. If so, a header that does not end within them is truncated; otherwise, it is too long.
  let isWholeFile: Bool

  private(set) var position = 0

  init(bytes: [UInt8], isWholeFile: Bool) {
    self.bytes = bytes
    self.isWholeFile = isWholeFile
  }

  /// Skips `P6`, which must be followed by white space or a comment.
  mutating func skipMagic() throws(PPMProblem) {
    if bytes.isEmpty { throw .empty }
    guard bytes.starts(with: [UInt8(ascii: "P"), UInt8(ascii: "6")]) else {
      throw .wrongMagic(found: Self.quoted(bytes.prefix(2)))
    }
    position = 2
    guard position < bytes.count else { throw .endsInHeader(missing: .width) }
    guard Self.isSpace(bytes[position]) || bytes[position] == Self.hash else {
      throw .wrongMagic(found: Self.quoted(bytes.prefix(3)))
    }
  }

  /// Skips white space and comments, and reads a decimal number.
  mutating func number(_ field: PPMHeader.Field) throws(PPMProblem) -> Int {
    try skipSpaceAndComments(before: field)
    var value = 0
    let start = position
    while position < bytes.count, case let digit = Int(bytes[position]) - Int(UInt8(ascii: "0")), 0...9 ~= digit {
      let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflowsInSum) = tens.addingReportingOverflow(digit)
      if overflows || overflowsInSum { throw .numberTooLarge(field) }
      value = sum
      position += 1
    }
    guard position < bytes.count else { throw endOfBytes(in: field) }
    guard position > start, Self.isSpace(bytes[position]) || bytes[position] == Self.hash else {
      let token = bytes[start...].prefix(16).prefix { !Self.isSpace($0) }
      throw .notANumber(field, found: Self.quoted(token))
    }
    return value
  }

  /// Skips the separator between the maximum and the samples.
  ///
  /// As in netpbm's own reader, the separator is one white-space character, or a comment including its line break.
  mutating func skipSeparator() throws(PPMProblem) {
    if bytes[position] == Self.hash { try skipComment(before: .maximum) }
    guard position < bytes.count else { throw endOfBytes(in: .maximum) }
    position += 1
  }

  private mutating func skipSpaceAndComments(before field: PPMHeader.Field) throws(PPMProblem) {
    while position < bytes.count {
      if bytes[position] == Self.hash {
        try skipComment(before: field)
      } else if Self.isSpace(bytes[position]) {
        position += 1
      } else {
        return
      }
    }
    throw endOfBytes(in: field)
  }

  /// Skips a comment up to the line break, which is treated as white space.
  private mutating func skipComment(before field: PPMHeader.Field) throws(PPMProblem) {
    while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r") {
      position += 1
    }
    guard position < bytes.count else { throw endOfBytes(in: field) }
  }

  private func endOfBytes(in field: PPMHeader.Field) -> PPMProblem {
    isWholeFile ? .endsInHeader(missing: field) : .headerTooLong(limit: bytes.count)
  }

  private static let hash = UInt8(ascii: "#")

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || 9...13 ~= byte
  }

  /// Returns bytes as text without control characters, which could affect the terminal.
  private static func quoted(_ bytes: some Collection<UInt8>) -> String {
    let shown = bytes.map { 0x20...0x7e ~= $0 ? String(UnicodeScalar($0)) : "·" }.joined()
    return "\"\(shown)\""
  }
}
