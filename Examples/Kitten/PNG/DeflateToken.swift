/// What deflate writes: a byte as it is, or a repetition of earlier bytes.
struct DeflateToken: Equatable {
  /// 0 for a literal, otherwise 3...258.
  let length: UInt16

  /// The literal byte, or how far back the repeated bytes begin, 1...32768.
  let value: UInt16

  static func literal(_ byte: UInt8) -> DeflateToken {
    DeflateToken(length: 0, value: UInt16(byte))
  }

  static func match(_ match: MatchFinder.Match) -> DeflateToken {
    DeflateToken(
      length: UInt16(truncatingIfNeeded: match.length), value: UInt16(truncatingIfNeeded: match.distance))
  }

  /// A symbol of one of deflate's two alphabets with the bits that follow its code (RFC 1951, 3.2.5).
  struct Symbol: Equatable {
    let code: Int
    var extra = 0
    var extraCount = 0
  }

  static let endOfBlock = 256
  static let literalAndLengthCount = 286
  static let distanceCount = 30

  /// The literal's or the length's symbol. Lengths come in groups of four codes, each group taking one more extra bit.
  var literalOrLength: Symbol {
    if length == 0 { return Symbol(code: Int(value)) }
    if length == 258 { return Symbol(code: 285) }
    let index = Int(length) - 3
    if index < 8 { return Symbol(code: 257 + index) }
    let extraCount = Self.bitWidth(index) - 3
    return Symbol(
      code: 257 + 4 * extraCount + index >> extraCount, extra: index & (1 << extraCount - 1), extraCount: extraCount)
  }

  /// The distance's symbol; only for a match. Distances come in groups of two codes.
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
