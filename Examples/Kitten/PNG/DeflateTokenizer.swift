/// A tokenizer that converts bytes to tokens, one block at a time.
struct DeflateTokenizer {
  /// If a match is at least this long, the tokenizer does not look for a longer one at the next position.
  private static let lazyLimit = 16

  private var finder: MatchFinder
  private(set) var position = 0

  /// The match at the current position; `nil` if the tokenizer has not looked for it yet.
  private var pending: MatchFinder.Match?

  init(_ bytes: [UInt8]) {
    finder = MatchFinder(bytes)
  }

  var isAtEnd: Bool { position == finder.bytes.count }

  /// Returns up to `limit` further tokens.
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
    // A longer match that starts one byte later is worth the cost of an additional literal.
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
