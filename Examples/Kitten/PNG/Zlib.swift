/// Compresses into a zlib stream (RFC 1950) with deflate (RFC 1951).
enum Zlib {
  /// The number of tokens in a block: few enough for the codes to fit their data, and enough to make the cost of the codes small.
  private static let tokensPerBlock = 16_384

  /// - Throws: `CancellationError` soon after the task has been cancelled.
  static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    var writer = BitWriter()
    // Deflate with a window of 32 KiB, default compression; 0x789c is divisible by 31, as it must be.
    writer.append([0x78, 0x9c])
    var tokenizer = DeflateTokenizer(bytes)
    repeat {
      try Task.checkCancellation()
      let start = tokenizer.position
      let tokens = tokenizer.tokens(limit: tokensPerBlock)
      DeflateBlock(tokens: tokens, bytes: bytes[start..<tokenizer.position], isLast: tokenizer.isAtEnd)
        .write(to: &writer)
    } while !tokenizer.isAtEnd
    writer.alignToByte()
    writer.append(Adler32.checksum(of: bytes).bigEndianBytes)
    return writer.bytes
  }
}

extension UInt32 {
  /// The four bytes, the most significant first.
  var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}
