import ProcedureKit
import Testing

@testable import kitten

@Suite struct ChecksumTests {
  @Test("CRC-32 gives the published check value, in one piece or several")
  func crc() {
    var whole = CRC32()
    whole.update(Array("123456789".utf8))
    #expect(whole.value == 0xcbf4_3926)
    var pieces = CRC32()
    pieces.update(Array("1234".utf8))
    pieces.update([])
    pieces.update(Array("56789".utf8))
    #expect(pieces.value == whole.value)
  }

  @Test("Adler-32 gives the published value, and does not overflow over many bytes of 255")
  func adler() {
    #expect(Adler32.checksum(of: []) == 1)
    #expect(Adler32.checksum(of: Array("Wikipedia".utf8)) == 0x11e6_0398)
    let bytes = [UInt8](repeating: 255, count: 100_000)
    var (low, high): (UInt64, UInt64) = (1, 0)
    for byte in bytes {
      low = (low + UInt64(byte)) % 65_521
      high = (high + low) % 65_521
    }
    #expect(Adler32.checksum(of: bytes) == UInt32(high << 16 | low))
  }
}
