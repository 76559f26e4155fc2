/// A writer that packs numbers of a few bits each into bytes, with the least significant bit first, as deflate requires.
struct BitWriter {
  private(set) var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var pendingCount = 0

  /// Appends the lowest `count` bits of `value`. `count` must be at most 32, and all higher bits must be zero.
  mutating func write(_ value: Int, count: Int) {
    pending |= UInt64(truncatingIfNeeded: value) &<< UInt64(truncatingIfNeeded: pendingCount)
    pendingCount &+= count
    while pendingCount >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending &>>= 8
      pendingCount &-= 8
    }
  }

  /// Fills the rest of the current byte with zeros.
  mutating func alignToByte() {
    write(0, count: (8 - pendingCount) % 8)
  }

  /// Appends whole bytes. The current position must be at the start of a byte.
  mutating func append(_ newBytes: some Sequence<UInt8>) {
    precondition(pendingCount == 0, "whole bytes must start at a byte boundary")
    bytes.append(contentsOf: newBytes)
  }
}
