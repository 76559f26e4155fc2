/// Packs numbers of a few bits into bytes, the least significant bit first, as deflate requires.
struct BitWriter {
  private(set) var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var pendingCount = 0

  /// Appends the lowest `count` bits of `value`, at most 32; the bits above them must be zero.
  mutating func write(_ value: Int, count: Int) {
    pending |= UInt64(truncatingIfNeeded: value) &<< UInt64(truncatingIfNeeded: pendingCount)
    pendingCount &+= count
    while pendingCount >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending &>>= 8
      pendingCount &-= 8
    }
  }

  /// Fills up the current byte with zero bits.
  mutating func alignToByte() {
    write(0, count: (8 - pendingCount) % 8)
  }

  /// Appends whole bytes. The current position must be at the start of a byte.
  mutating func append(_ newBytes: some Sequence<UInt8>) {
    precondition(pendingCount == 0, "Whole bytes begin at a byte")
    bytes.append(contentsOf: newBytes)
  }
}
