/// Internal. The checksum CRC-32 of ISO 3309, as in gzip and PNG.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
  }

  /// Returns the checksum of bytes.
  static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
    var checksum = Checksum()
    checksum.add(bytes)
    return checksum.value
  }

  /// The checksum of bytes that are added in pieces.
  struct Checksum {
    private var state = UInt32.max

    mutating func add(_ bytes: some Sequence<UInt8>) {
      state = table.withUnsafeBufferPointer { table in
        bytes.reduce(state) { table[Int(($0 ^ UInt32($1)) & 0xff)] ^ $0 >> 8 }
      }
    }

    var value: UInt32 { ~state }
  }
}
