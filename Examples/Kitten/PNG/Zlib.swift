/// A compressor that creates zlib streams (RFC 1950), which are compressed with deflate (RFC 1951).
enum Zlib {
  /// The number of tokens in a block. It is small enough for the codes to suit the data, and large enough for their size to be negligible.
  private static let tokensPerBlock = 16_384

  /// Returns the bytes as a compressed stream.
  ///
  /// - Throws: `CancellationError` soon after the task is cancelled.
  static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    var writer = BitWriter()
    // These bytes specify deflate with a window of 32 KiB and the default compression. As required, 0x789c is divisible by 31.
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
  /// The four bytes of the number, the most significant one first.
  var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}
