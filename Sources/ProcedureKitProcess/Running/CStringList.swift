import ProcedureKit

/// A list of strings in the form that the system expects, in which each string ends with a NUL character.
struct CStringList {
  private var bytes: [UInt8] = []
  private var starts: [Int] = []

  /// Creates a list with room for a number of strings of typical length.
  init(capacity: Int) {
    bytes.reserveCapacity(64 * capacity)
    starts.reserveCapacity(capacity)
  }

  /// Adds a string. Returns `false` if it contains a NUL character.
  mutating func append(_ text: SystemText) -> Bool {
    starts.append(bytes.count)
    return add(text, end: 0)
  }

  /// Adds `name=value`. Returns `false` if the name is empty or contains `=`, or if the name or the value contains a NUL character.
  mutating func append(_ name: SystemText, value: SystemText) -> Bool {
    starts.append(bytes.count)
    let equals = UInt8(ascii: "=")
    return !name.isEmpty && add(name, end: equals, without: equals) && add(value, end: 0)
  }

  /// Adds bytes and a terminator. Returns `false` if the bytes contain a NUL character or the byte `other`.
  private mutating func add(_ text: SystemText, end: UInt8, without other: UInt8 = 0) -> Bool {
    let start = bytes.count
    bytes += text.bytes
    let isFine = !bytes[start...].contains { $0 == 0 || $0 == other }
    bytes.append(end)
    return isFine
  }

  /// Calls `body` with pointers to the strings, followed by `nil`. The pointers are valid only during the call.
  mutating func withPointers<R>(_ body: ([UnsafeMutablePointer<CChar>?]) throws -> R) rethrows -> R {
    try bytes.withUnsafeMutableBytes { [starts] bytes in
      let base = bytes.bindMemory(to: CChar.self).baseAddress
      return try body(starts.map { start in base.map { $0 + start } } + [nil])
    }
  }
}
