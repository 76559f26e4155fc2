import ProcedureKit
import ProcedureKitDurable

/// The bytes of a journal's file, written by the test from the documented format.
struct JournalImage {
  static let header: [UInt8] = checked(Array("PKJOURNL".utf8) + number(1))

  private(set) var bytes = header
  /// The positions at which each entry starts, and the position at which the last entry ends.
  private(set) var ends = [16]

  mutating func add(_ key: JournalKey, _ value: [UInt8]) {
    let path = Array(key.path.utf8)
    add(payload: Self.number(path.count) + path + key.fingerprint.bytes + value)
  }

  /// Adds a payload with valid checksums, whatever the payload contains.
  mutating func add(payload: [UInt8], length: Int? = nil) {
    bytes += Self.checked(Self.number(length ?? payload.count) + Self.number(Int(Self.checksum(payload)))) + payload
    ends.append(bytes.count)
  }

  static func number(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }

  private static func checked(_ bytes: [UInt8]) -> [UInt8] { bytes + number(Int(checksum(bytes))) }

  /// Returns the CRC-32 of ISO 3309, which is computed bit by bit.
  static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
    }
  }
}
