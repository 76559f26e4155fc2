/// A unit of a deflate stream: either a literal byte or a repetition of earlier bytes.
struct DeflateToken: Equatable {
  /// The number of repeated bytes, from 3 to 258; 0 for a literal.
  let length: UInt16

  /// The literal byte, or the distance to the repeated bytes, from 1 to 32768.
  let value: UInt16

  static func literal(_ byte: UInt8) -> DeflateToken {
    DeflateToken(length: 0, value: UInt16(byte))
  }

  static func match(_ match: MatchFinder.Match) -> DeflateToken {
    DeflateToken(
      length: UInt16(truncatingIfNeeded: match.length), value: UInt16(truncatingIfNeeded: match.distance))
  }

  /// A symbol from one of deflate's two alphabets, and the extra bits that follow its code (RFC 1951, 3.2.5).
  struct Symbol: Equatable {
    let code: Int
    var extra = 0
    var extraCount = 0
  }

  static let endOfBlock = 256
  static let literalAndLengthCount = 286
  static let distanceCount = 30

  /// The symbol for the literal or the length. Lengths form groups of four codes. The codes in each group have one more extra bit than
  /// those in the previous group.
  var literalOrLength: Symbol {
    if length == 0 { return Symbol(code: Int(value)) }
    if length == 258 { return Symbol(code: 285) }
    let index = Int(length) - 3
    if index < 8 { return Symbol(code: 257 + index) }
    let extraCount = Self.bitWidth(index) - 3
    return Symbol(
      code: 257 + 4 * extraCount + index >> extraCount, extra: index & (1 << extraCount - 1), extraCount: extraCount)
  }

  /// The symbol for the distance, which is meaningful only for a match. Distances form groups of two codes.
  var distance: Symbol {
    let index = Int(value) - 1
    if index < 4 { return Symbol(code: index) }
    let extraCount = Self.bitWidth(index) - 2
    return Symbol(
      code: 2 * extraCount + index >> extraCount, extra: index & (1 << extraCount - 1), extraCount: extraCount)
  }

  private static func bitWidth(_ number: Int) -> Int {
    Int.bitWidth - number.leadingZeroBitCount
  }
}
