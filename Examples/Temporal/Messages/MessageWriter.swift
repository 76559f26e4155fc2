/// A writer that encodes a protocol buffer message. Fields that have their default values are omitted.
struct MessageWriter {
  private(set) var bytes: [UInt8] = []

  private enum WireType: UInt64 {
    case varint = 0
    case eightBytes = 1
    case lengthDelimited = 2
  }

  private mutating func key(_ field: Int, _ type: WireType) { varint(UInt64(field) << 3 | type.rawValue) }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func write(_ field: Int, _ value: Int) {
    guard value != 0 else { return }
    key(field, .varint)
    varint(UInt64(bitPattern: Int64(value)))
  }

  mutating func write(_ field: Int, _ value: Bool) { write(field, value ? 1 : 0) }

  mutating func write(_ field: Int, _ value: Double) {
    guard value != 0 else { return }
    key(field, .eightBytes)
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value.bitPattern >> shift)) }
  }

  mutating func write(_ field: Int, _ value: String) { write(field, Array(value.utf8)) }

  mutating func write(_ field: Int, _ value: [UInt8]) {
    if !value.isEmpty { writeAlways(field, value) }
  }

  /// Writes a field that contains a message, even if the message is empty.
  mutating func write(_ field: Int, _ build: (inout MessageWriter) -> Void) {
    var message = MessageWriter()
    build(&message)
    writeAlways(field, message.bytes)
  }

  /// Writes a duration in whole nanoseconds, limited to 10,000 years, as the specification of the message requires.
  mutating func write(_ field: Int, _ duration: Duration) {
    let longest = Duration.seconds(315_576_000_000)
    let (seconds, attoseconds) = min(max(duration, .zero - longest), longest).components
    write(field) {
      $0.write(1, Int(seconds))
      $0.write(2, Int(attoseconds / 1_000_000_000))
    }
  }

  private mutating func writeAlways(_ field: Int, _ value: [UInt8]) {
    key(field, .lengthDelimited)
    varint(UInt64(value.count))
    bytes += value
  }
}
