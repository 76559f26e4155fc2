import Foundation
import LoadedLibraries

/// A decoder that decompresses a gzip-encoded body in pieces of at most 64 KB.
///
/// The object belongs to the task that reads the response.
final class GzipDecoder {
  private enum State {
    /// The decoder is between two streams, or before the first one.
    case outside
    case inside
  }

  private static let pieceSize = 64 << 10
  /// The maximum number of compressed bytes that are allowed to decompress to nothing.
  private static let slack: Int64 = 256 << 10

  private let inflater: OpaquePointer
  private var buffer = [UInt8](repeating: 0, count: pieceSize)
  private var state = State.outside
  private var hasStream = false
  /// Whether the last piece filled the buffer. If it did, there may be more output without more input.
  private var isFull = false
  private var usedCount: Int64 = 0
  private var madeCount: Int64 = 0

  /// Whether bodies can be decompressed on this machine.
  static var isAvailable: Bool { pk_zlib_load() }

  private static let damaged = URLError(
    .cannotDecodeContentData, explanation: "the response body is not valid gzip data")

  init() throws(URLError) {
    guard let inflater = pk_inflater_init() else {
      throw URLError(.cannotDecodeContentData, explanation: "zlib is out of memory")
    }
    self.inflater = inflater
  }

  deinit { pk_inflater_free(inflater) }

  /// Decompresses bytes at the start of the input and removes them from it.
  ///
  /// - Returns: A piece of the body; `nil` if all of the input has been decompressed.
  /// - Throws: `URLError` if the body is not gzip.
  func decode(_ input: inout Data) throws(URLError) -> Data? {
    while !input.isEmpty || isFull {
      if case .outside = state {
        // A body can consist of several streams (RFC 1952, section 2.2).
        if hasStream, !pk_inflater_restart(inflater) { throw Self.damaged }
        (state, hasStream) = (.inside, true)
      }
      let (piece, used, result) = inflate(input)
      input = input.dropFirst(used)
      (usedCount, madeCount) = (usedCount + Int64(used), madeCount + Int64(piece.count))
      // Endless file names, empty blocks and empty streams decompress to nothing, so the limit on the size of the body would never stop
      // them.
      guard usedCount <= Self.slack + 16 * madeCount, result != PK_INFLATE_FAILED else { throw Self.damaged }
      isFull = piece.count == Self.pieceSize && result == PK_INFLATE_CONTINUES
      if result == PK_INFLATE_ENDED { state = .outside }
      if !piece.isEmpty { return piece }
    }
    return nil
  }

  /// Checks that the compressed stream is complete at the end of the body. A body without any bytes is accepted, as in curl and browsers.
  ///
  /// - Throws: `URLError` if the compressed stream is incomplete.
  func finish() throws(URLError) {
    if case .inside = state {
      throw URLError(.networkConnectionLost, explanation: "the compressed data ends too early")
    }
  }

  /// Decompresses some of the input into the buffer. Returns the decompressed bytes, and how many bytes of the input were used.
  private func inflate(_ input: Data) -> (piece: Data, used: Int, result: Int32) {
    var (used, made) = (input.count, Self.pieceSize)
    let result = input.withUnsafeBytes { input in
      buffer.withUnsafeMutableBytes { pk_inflate(inflater, input.baseAddress, &used, $0.baseAddress, &made) }
    }
    return (Data(buffer.prefix(made)), used, result)
  }
}
