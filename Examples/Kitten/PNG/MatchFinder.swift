/// A search for earlier occurrences of the bytes at a position. It follows chains of positions whose next three bytes have the same hash.
///
/// The limits are those of zlib's level 6. They balance time and size, and do not affect correctness.
struct MatchFinder {
  struct Match: Equatable {
    let length: Int
    let distance: Int
  }

  static let shortestMatch = 3
  static let longestMatch = 258
  static let windowSize = 32_768

  /// The search stops at a match that is at least this long.
  private static let niceLength = 128
  /// If the previous match is at least this long, chains are followed only a quarter as far.
  private static let goodLength = 8
  private static let chainLimit = 128
  /// Beyond this distance, a match of three bytes takes up more bits than three literals.
  private static let farForShortest = 4096

  private static let hashBits = 15

  let bytes: [UInt8]
  private var newest = [Int32](repeating: -1, count: 1 << hashBits)
  private var previous = [Int32](repeating: -1, count: windowSize)

  init(_ bytes: [UInt8]) {
    precondition(bytes.count < Int32.max, "there are too many bytes for 32-bit positions")
    self.bytes = bytes
  }

  /// Makes a position available to later searches. Positions must be inserted in order.
  mutating func insert(_ position: Int) {
    guard position + Self.shortestMatch <= bytes.count else { return }
    let hash = hash(at: position)
    previous[position & (Self.windowSize - 1)] = newest[hash]
    newest[hash] = Int32(truncatingIfNeeded: position)
  }

  /// Returns the longest match at a position; `nil` if no match is longer than `least`. All earlier positions must have been inserted.
  func longestMatch(at position: Int, longerThan least: Int = shortestMatch - 1) -> Match? {
    let limit = min(Self.longestMatch, bytes.count - position)
    guard least < limit else { return nil }
    let oldest = Int32(truncatingIfNeeded: max(0, position - Self.windowSize))
    var candidate = newest[hash(at: position)]
    var chain = least >= Self.goodLength ? Self.chainLimit / 4 : Self.chainLimit
    var best = least
    var found: Match?
    while candidate >= oldest, chain > 0 {
      let start = Int(candidate)
      // A longer match must have the same byte after the best match so far. Most candidates do not.
      if bytes[start + best] == bytes[position + best], bytes[start] == bytes[position] {
        var length = 0
        while length < limit, bytes[start + length] == bytes[position + length] { length += 1 }
        if length > best {
          best = length
          found = Match(length: length, distance: position - start)
          if length == limit || length >= Self.niceLength { break }
        }
      }
      candidate = previous[start & (Self.windowSize - 1)]
      chain -= 1
    }
    if let found, found.length == Self.shortestMatch, found.distance > Self.farForShortest { return nil }
    return found
  }

  private func hash(at position: Int) -> Int {
    let value =
      UInt32(bytes[position]) | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2]) << 16
    return Int((value &* 0x9e37_79b1) >> UInt32(32 - Self.hashBits))
  }
}
