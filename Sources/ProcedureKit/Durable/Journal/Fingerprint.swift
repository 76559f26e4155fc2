/// A SHA-256 hash. Equal bytes have equal fingerprints in every process, on every machine.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// The bytes, the first in the most significant place of the first word. No array, since a journal holds many fingerprints.
  private let first, second, third, fourth: UInt64

  /// Takes the bytes of a fingerprint; `nil` if these are not 32 bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.init(Array(bytes))
  }

  /// Computes the fingerprint of bytes.
  ///
  /// - Complexity: O(n) for n bytes.
  public init(of bytes: some Collection<UInt8>) {
    var hash = SHA256()
    hash.add(Array(bytes))
    self.init(hash.finished())
  }

  /// Computes the fingerprint of several parts, whose limits count: `["ab", "c"]` differs from `["a", "bc"]`.
  init(parts: [[UInt8]]) {
    var hash = SHA256()
    for part in parts {
      hash.add(UInt64(part.count).littleEndianBytes)
      hash.add(part)
    }
    self.init(hash.finished())
  }

  private init(_ bytes: [UInt8]) {
    func word(_ index: Int) -> UInt64 { bytes[8 * index..<8 * index + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    (first, second, third, fourth) = (word(0), word(1), word(2), word(3))
  }

  private var words: [UInt64] { [first, second, third, fourth] }

  /// The 32 bytes of the hash.
  public var bytes: [UInt8] { words.flatMap { $0.littleEndianBytes.reversed() } }

  /// The first 8 bytes, by which two fingerprints are told apart where nothing but an explanation depends on it.
  var prefix: UInt64 { first }

  /// The bytes as 64 hexadecimal digits.
  public var description: String {
    words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    .joined()
  }
}
