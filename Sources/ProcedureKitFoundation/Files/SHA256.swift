/// The SHA-256 hash function from FIPS 180-4, which Foundation does not provide on Linux. The examples use this type as well.
package struct SHA256 {
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  private var state = SIMD8<UInt32>(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  /// The bytes that have been added but do not yet fill a block.
  private var rest: [UInt8] = []
  private var count: UInt64 = 0

  package init() {}

  /// Adds bytes to the message to be hashed.
  package mutating func add(_ bytes: [UInt8]) {
    count += UInt64(bytes.count)
    var position = 0
    if !rest.isEmpty {
      position = min(64 - rest.count, bytes.count)
      rest += bytes[..<position]
      guard rest.count == 64 else { return }
      process(rest, at: 0)
      rest = []
    }
    while bytes.count - position >= 64 {
      process(bytes, at: position)
      position += 64
    }
    rest += bytes[position...]
  }

  /// Completes the hash and returns its 32 bytes. No more bytes can be added afterwards.
  package mutating func finished() -> [UInt8] {
    let bits = count * 8
    rest.append(0x80)
    rest += repeatElement(0, count: (120 - rest.count % 64) % 64)
    for shift in stride(from: 56, through: 0, by: -8) { rest.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    for start in stride(from: 0, to: rest.count, by: 64) { process(rest, at: start) }
    var hash: [UInt8] = []
    hash.reserveCapacity(32)
    for word in state.indices.map({ state[$0] }) {
      for shift in stride(from: 24, through: 0, by: -8) {
        hash.append(UInt8(truncatingIfNeeded: word >> UInt32(shift)))
      }
    }
    return hash
  }

  private mutating func process(_ bytes: [UInt8], at start: Int) {
    // The buffers are used only within this function, and all indices are smaller than their counts, so they need not be checked each time.
    precondition(bytes.count - start >= 64)
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
      bytes.withUnsafeBytes { bytes in
        for index in 0..<16 {
          let word = bytes.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self)
          schedule.initializeElement(at: index, to: UInt32(bigEndian: word))
        }
      }
      for index in 16..<64 {
        let (a, b) = (schedule[index - 15], schedule[index - 2])
        let first = a.rotated(7) ^ a.rotated(18) ^ a >> 3
        let second = b.rotated(17) ^ b.rotated(19) ^ b >> 10
        schedule.initializeElement(
          at: index, to: schedule[index - 16] &+ first &+ schedule[index - 7] &+ second)
      }
      var (a, b, c, d) = (state[0], state[1], state[2], state[3])
      var (e, f, g, h) = (state[4], state[5], state[6], state[7])
      Self.constants.withUnsafeBufferPointer { constants in
        // Eight rounds rotate the eight variables once, so no round has to move them.
        for index in stride(from: 0, to: 64, by: 8) {
          Self.round(a, b, c, &d, e, f, g, &h, constants[index] &+ schedule[index])
          Self.round(h, a, b, &c, d, e, f, &g, constants[index + 1] &+ schedule[index + 1])
          Self.round(g, h, a, &b, c, d, e, &f, constants[index + 2] &+ schedule[index + 2])
          Self.round(f, g, h, &a, b, c, d, &e, constants[index + 3] &+ schedule[index + 3])
          Self.round(e, f, g, &h, a, b, c, &d, constants[index + 4] &+ schedule[index + 4])
          Self.round(d, e, f, &g, h, a, b, &c, constants[index + 5] &+ schedule[index + 5])
          Self.round(c, d, e, &f, g, h, a, &b, constants[index + 6] &+ schedule[index + 6])
          Self.round(b, c, d, &e, f, g, h, &a, constants[index + 7] &+ schedule[index + 7])
        }
      }
      state &+= SIMD8(a, b, c, d, e, f, g, h)
    }
  }

  @inline(__always)
  private static func round(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: inout UInt32, _ e: UInt32, _ f: UInt32, _ g: UInt32, _ h: inout UInt32,
    _ word: UInt32
  ) {
    let choice = g ^ (e & (f ^ g))
    let majority = (a & b) | (c & (a | b))
    h = h &+ (e.rotated(6) ^ e.rotated(11) ^ e.rotated(25)) &+ choice &+ word
    d = d &+ h
    h = h &+ (a.rotated(2) ^ a.rotated(13) ^ a.rotated(22)) &+ majority
  }
}

extension UInt32 {
  /// Returns the number with its bits rotated to the right.
  fileprivate func rotated(_ count: UInt32) -> UInt32 { self &>> count | self &<< (32 - count) }
}

extension [UInt8] {
  /// Appends the bytes of a number, with the least significant byte first.
  @inlinable
  package mutating func append(littleEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

extension FixedWidthInteger {
  /// The bytes of the number, with the least significant byte first.
  @inlinable
  package var littleEndianBytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: self)
    return bytes
  }
}
