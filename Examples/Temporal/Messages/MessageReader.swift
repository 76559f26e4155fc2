/// The fields of a protocol buffer message. A field that contains a message is decoded only when it is read. If a singular field occurs
/// more than once, the last value is used.
struct MessageReader {
  enum Value {
    case number(UInt64)
    case bytes(ArraySlice<UInt8>)
  }

  /// An error that is thrown when bytes are not a valid message.
  struct Malformed: Error {}

  private var fields: [Int: [Value]] = [:]

  init() {}

  init(_ bytes: ArraySlice<UInt8>) throws {
    var rest = bytes
    while !rest.isEmpty {
      let key = try Self.varint(&rest)
      let value: Value
      switch key & 7 {
      case 0: value = .number(try Self.varint(&rest))
      case 1: value = .number(Self.number(try Self.take(8, &rest)))
      case 2: value = .bytes(try Self.take(try Self.varint(&rest), &rest))
      case 5: value = .number(Self.number(try Self.take(4, &rest)))
      default: throw Malformed()
      }
      fields[Int(truncatingIfNeeded: key >> 3), default: []].append(value)
    }
  }

  var isEmpty: Bool { fields.isEmpty }

  func has(_ field: Int) -> Bool { fields[field] != nil }

  func int(_ field: Int) -> Int {
    guard case .number(let number)? = fields[field]?.last else { return 0 }
    return Int(Int64(bitPattern: number))
  }

  func bytes(_ field: Int) -> [UInt8] {
    guard case .bytes(let bytes)? = fields[field]?.last else { return [] }
    return Array(bytes)
  }

  func string(_ field: Int) -> String { String(decoding: bytes(field), as: UTF8.self) }

  func message(_ field: Int) throws -> MessageReader { try MessageReader(bytes(field)[...]) }

  func messages(_ field: Int) throws -> [MessageReader] {
    try fields[field, default: []].map { value in
      guard case .bytes(let bytes) = value else { throw Malformed() }
      return try MessageReader(bytes)
    }
  }

  func duration(_ field: Int) throws -> Duration? {
    guard has(field) else { return nil }
    let message = try message(field)
    return .seconds(message.int(1)) + .nanoseconds(message.int(2))
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) throws -> UInt64 {
    var (value, shift) = (UInt64(0), UInt64(0))
    while let byte = rest.popFirst(), shift < 64 {
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw Malformed()
  }

  private static func take(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw Malformed() }
    defer { rest = rest.dropFirst(Int(count)) }
    return rest.prefix(Int(count))
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
