/// Turns bytes into tokens, a block at a time.
struct DeflateTokenizer {
  /// With a match so long, the next position is not tried for a longer one.
  private static let lazyLimit = 16

  private var finder: MatchFinder
  private(set) var position = 0

  /// A match that was found at the position already, while looking for a longer one than that before it.
  private var pending: MatchFinder.Match?

  init(_ bytes: [UInt8]) {
    finder = MatchFinder(bytes)
  }

  var isAtEnd: Bool { position == finder.bytes.count }

  /// The next tokens, at most `limit`.
  mutating func tokens(limit: Int) -> [DeflateToken] {
    var tokens: [DeflateToken] = []
    tokens.reserveCapacity(limit)
    while tokens.count < limit, !isAtEnd {
      tokens.append(next())
    }
    return tokens
  }

  private mutating func next() -> DeflateToken {
    let match = pending ?? finder.longestMatch(at: position)
    pending = nil
    finder.insert(position)
    guard let match else { return literal() }
    // A longer match that begins one byte later is worth a literal.
    if match.length < Self.lazyLimit,
      let later = finder.longestMatch(at: position + 1, longerThan: match.length)
    {
      pending = later
      return literal()
    }
    for covered in 1..<match.length { finder.insert(position + covered) }
    position += match.length
    return .match(match)
  }

  private mutating func literal() -> DeflateToken {
    defer { position += 1 }
    return .literal(finder.bytes[position])
  }
}
