internal import ProcedureKit
internal import ProcedureKitFoundation

/// The layout of a journal file: a header, followed by entries.
///
/// | part | bytes |
/// |---|---|
/// | header | `PKJOURNL`, version (4), CRC-32 of the preceding 12 bytes (4) |
/// | entry | length of the payload (4), CRC-32 of the payload (4), CRC-32 of the preceding 8 bytes (4), payload |
/// | payload | length of the path (4), path, fingerprint (32), value |
///
/// Numbers are stored with the least significant byte first. The length has its own checksum, so that an entry with a damaged length is not
/// mistaken for an incomplete entry.
enum JournalFormat {
  static let version: UInt32 = 1
  static let magic = Array("PKJOURNL".utf8)
  static let headerSize = 16
  static let entryHeaderSize = 12

  static func header(version: UInt32 = version) -> [UInt8] {
    let start = magic + version.littleEndianBytes
    return start + CRC32.checksum(of: start).littleEndianBytes
  }

  /// The maximum number of bytes in a path. Paths are limited, because the paths of all entries are kept in memory.
  static let largestPath = 1 << 24

  /// Returns the bytes of an entry, or `nil` if the entry or its path is too large for the format.
  static func entry(_ value: [UInt8], for key: JournalKey) -> [UInt8]? {
    let path = Array(key.path.utf8)
    guard path.count <= largestPath, let pathLength = UInt32(exactly: path.count),
      let length = UInt32(exactly: path.count + value.count + 36)
    else {
      return nil
    }
    var payload: [UInt8] = []
    payload.reserveCapacity(Int(length))
    payload.append(littleEndian: pathLength)
    payload += path
    payload += key.fingerprint.bytes
    payload += value
    var entry: [UInt8] = []
    entry.reserveCapacity(entryHeaderSize + payload.count)
    entry.append(littleEndian: length)
    entry.append(littleEndian: CRC32.checksum(of: payload))
    entry.append(littleEndian: CRC32.checksum(of: entry))
    return entry + payload
  }

  /// Reads the header of an entry. Returns `nil` if the header's checksum is wrong.
  static func entryHeader(_ header: [UInt8]) -> (length: Int, checksum: UInt32)? {
    guard number(header[8..<12]) == CRC32.checksum(of: header[..<8]) else { return nil }
    return (Int(number(header[..<4])), number(header[4..<8]))
  }

  /// Returns the size of the key at the start of a payload, including the length field of the path. Returns `nil` if a payload of this
  /// length cannot contain the key.
  static func keySize(_ start: [UInt8], payloadLength: Int) -> Int? {
    guard payloadLength >= 36, start.count == 4 else { return nil }
    let path = Int(number(start))
    return path <= largestPath && path + 36 <= payloadLength ? path + 36 : nil
  }

  /// Reads the key at the start of a payload. Returns `nil` if the path is not valid UTF-8.
  static func key(_ start: [UInt8]) -> JournalKey? {
    let end = start.count - 32
    guard end >= 4, let path = String(validating: start[4..<end], as: UTF8.self),
      let fingerprint = Fingerprint(bytes: start[end...])
    else { return nil }
    return JournalKey(path: path, fingerprint: fingerprint)
  }

  static func number(_ bytes: some Collection<UInt8>) -> UInt32 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// The CRC-32 checksum from ISO 3309, which gzip and PNG also use.
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
  }

  /// Returns the checksum of some bytes.
  static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
    var checksum = Checksum()
    checksum.add(bytes)
    return checksum.value
  }

  /// A checksum of bytes that are added in chunks.
  struct Checksum {
    private var state = UInt32.max

    mutating func add(_ bytes: some Sequence<UInt8>) {
      let table = table
      for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xff)] ^ state >> 8 }
    }

    var value: UInt32 { ~state }
  }
}
