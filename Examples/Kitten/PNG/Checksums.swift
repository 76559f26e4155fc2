/// The checksum of a PNG chunk, which is the CRC-32 of ISO 3309.
struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1 }
  }

  private let table = Self.table
  private var register: UInt32 = 0xffff_ffff

  /// The checksum of the bytes that have been added so far.
  var value: UInt32 { ~register }

  mutating func update(_ bytes: [UInt8]) {
    for byte in bytes {
      register = table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
    }
  }
}

/// The checksum of a zlib stream (RFC 1950).
enum Adler32 {
  /// The maximum number of bytes that can be added without overflowing a 32-bit sum.
  private static let pieceSize = 5552

  static func checksum(of bytes: [UInt8]) -> UInt32 {
    var low: UInt32 = 1
    var high: UInt32 = 0
    var start = 0
    while start < bytes.count {
      let end = min(start + pieceSize, bytes.count)
      for index in start..<end {
        low &+= UInt32(bytes[index])
        high &+= low
      }
      low %= 65_521
      high %= 65_521
      start = end
    }
    return high << 16 | low
  }
}
