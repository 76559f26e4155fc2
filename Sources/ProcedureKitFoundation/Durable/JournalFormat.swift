internal import ProcedureKit

/// Internal. The bytes of a journal's file: a header, then entries.
///
/// | part | bytes |
/// |---|---|
/// | header | `PKJOURNL`, version (4), CRC-32 of the 12 bytes before (4) |
/// | entry | length of the payload (4), CRC-32 of the payload (4), CRC-32 of the 8 bytes before (4), payload |
/// | payload | length of the path (4), path, fingerprint (32), value |
///
/// Numbers have the least significant byte first. The length has a checksum of its own, so that a changed length is not taken for an
/// entry that was not written to its end.
enum JournalFormat {
  static let version: UInt32 = 1
  static let magic = Array("PKJOURNL".utf8)
  static let headerSize = 16
  static let entryHeaderSize = 12

  static func header(version: UInt32 = version) -> [UInt8] {
    let start = magic + bytes(of: version)
    return start + bytes(of: CRC32.checksum(of: start))
  }

  /// Returns the bytes of an entry, or `nil` if the entry is too large for the format.
  static func entry(_ value: [UInt8], for key: JournalKey) -> [UInt8]? {
    let path = Array(key.path.utf8)
    guard let pathLength = UInt32(exactly: path.count), let length = UInt32(exactly: path.count + value.count + 36)
    else {
      return nil
    }
    let payload = bytes(of: pathLength) + path + key.fingerprint.bytes + value
    let start = bytes(of: length) + bytes(of: CRC32.checksum(of: payload))
    return start + bytes(of: CRC32.checksum(of: start)) + payload
  }

  /// Reads the header of an entry; `nil` if its checksum is wrong.
  static func entryHeader(_ header: [UInt8]) -> (length: Int, checksum: UInt32)? {
    guard number(header[8..<12]) == CRC32.checksum(of: header[..<8]) else { return nil }
    return (Int(number(header[..<4])), number(header[4..<8]))
  }

  /// Splits a payload into key and value; `nil` if it is none.
  static func split(_ payload: [UInt8]) -> (key: JournalKey, value: ArraySlice<UInt8>)? {
    guard payload.count >= 36 else { return nil }
    let end = 4 + Int(number(payload[..<4]))
    guard payload.count >= end + 32, let fingerprint = Fingerprint(bytes: payload[end..<end + 32]) else { return nil }
    let path = String(decoding: payload[4..<end], as: UTF8.self)
    return (JournalKey(path: path, fingerprint: fingerprint), payload[(end + 32)...])
  }

  static func number(_ bytes: some Collection<UInt8>) -> UInt32 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func bytes(of number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
