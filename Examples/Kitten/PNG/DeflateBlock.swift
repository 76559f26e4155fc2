/// A block of a deflate stream. It is written in whichever of three forms is the shortest (RFC 1951, 3.2.3).
struct DeflateBlock {
  /// The form of a block. It is written before the block's data.
  private enum Kind: Int {
    case stored = 0
    case fixed = 1
    case dynamic = 2
  }

  private static let storedLimit = 65_535
  private static let fixedLiterals = HuffmanCode(
    lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  private static let fixedDistances = HuffmanCode(lengths: [Int](repeating: 5, count: 32))

  let tokens: [DeflateToken]
  let bytes: ArraySlice<UInt8>
  let isLast: Bool

  /// Writes the block. The tokens represent the bytes of the block.
  func write(to writer: inout BitWriter) {
    var literals = [Int](repeating: 0, count: DeflateToken.literalAndLengthCount)
    var distances = [Int](repeating: 0, count: DeflateToken.distanceCount)
    var extraBits = 0
    literals[DeflateToken.endOfBlock] = 1
    for token in tokens {
      let symbol = token.literalOrLength
      literals[symbol.code] += 1
      guard token.length > 0 else { continue }
      let distance = token.distance
      distances[distance.code] += 1
      extraBits += symbol.extraCount + distance.extraCount
    }

    let header = DynamicCodes(
      literals: HuffmanCode(frequencies: literals, limit: 15),
      distances: HuffmanCode(frequencies: distances, limit: 15))
    let dynamicCost =
      header.cost + header.literals.cost(of: literals) + header.distances.cost(of: distances) + extraBits
    let fixedCost =
      Self.fixedLiterals.cost(of: literals) + Self.fixedDistances.cost(of: distances) + extraBits
    // A stored chunk takes up its bytes, four bytes for its length, and up to one byte for alignment.
    let storedCost = 8 * (bytes.count + 5 * (bytes.count / Self.storedLimit + 1))

    if storedCost < min(dynamicCost, fixedCost) {
      writeStored(to: &writer)
    } else if fixedCost <= dynamicCost {
      begin(.fixed, isLast: isLast, in: &writer)
      writeTokens(literals: Self.fixedLiterals, distances: Self.fixedDistances, to: &writer)
    } else {
      begin(.dynamic, isLast: isLast, in: &writer)
      header.write(to: &writer)
      writeTokens(literals: header.literals, distances: header.distances, to: &writer)
    }
  }

  private func begin(_ kind: Kind, isLast: Bool, in writer: inout BitWriter) {
    writer.write(isLast ? 1 : 0, count: 1)
    writer.write(kind.rawValue, count: 2)
  }

  private func writeStored(to writer: inout BitWriter) {
    var rest = bytes
    repeat {
      let piece = rest.prefix(Self.storedLimit)
      rest = rest.dropFirst(piece.count)
      begin(.stored, isLast: isLast && rest.isEmpty, in: &writer)
      writer.alignToByte()
      writer.write(piece.count, count: 16)
      writer.write(piece.count ^ 0xffff, count: 16)
      writer.append(piece)
    } while !rest.isEmpty
  }

  private func writeTokens(literals: HuffmanCode, distances: HuffmanCode, to writer: inout BitWriter) {
    for token in tokens {
      write(token.literalOrLength, with: literals, to: &writer)
      if token.length > 0 { write(token.distance, with: distances, to: &writer) }
    }
    write(DeflateToken.Symbol(code: DeflateToken.endOfBlock), with: literals, to: &writer)
  }

  private func write(_ symbol: DeflateToken.Symbol, with code: HuffmanCode, to writer: inout BitWriter) {
    let length = code.lengths[symbol.code]
    writer.write(code.codes[symbol.code] | symbol.extra << length, count: length + symbol.extraCount)
  }
}
