/// Text that identifies a file, a key or a node. Two values are equal if their bytes are equal.
///
/// Swift's `==` treats the composed and decomposed forms of `é` as equal. Files and journals store bytes, and the two forms have different
/// bytes.
package struct ByteText: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The string whose bytes are compared.
  package let text: String

  /// Creates a value from a string.
  package init(_ text: String) { self.text = text }

  package static func == (one: ByteText, other: ByteText) -> Bool { one.text.hasBytes(of: other.text) }

  /// Compares the bytes as unsigned numbers.
  package static func < (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: text) }

  /// The text.
  package var description: String { text }

  /// Returns a dictionary key for a value of any type.
  ///
  /// Keys that are created from strings or substrings are compared byte by byte. All other keys are compared with the `==` operator of
  /// their type.
  static func key(_ value: some Hashable) -> AnyHashable {
    if let text = value as? any StringProtocol { return AnyHashable(ByteText(String(text))) }
    return AnyHashable(value)
  }
}

extension String {
  /// Returns whether both strings have the same bytes.
  package func hasBytes(of other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    let areEqual = utf8.withContiguousStorageIfAvailable { one in
      other.utf8.withContiguousStorageIfAvailable { other in
        // A plain loop is several times as fast as `elementsEqual`, especially in builds without optimization.
        var index = 0
        while index < one.count, one[index] == other[index] { index += 1 }
        return index == one.count
      }
    }
    // A string that Objective-C code created may not be contiguous.
    return areEqual.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }

  /// Returns whether this string precedes `other`. Strings are compared in Swift's order or, if Swift considers them equal, byte by byte.
  package func precedes(_ other: String) -> Bool { self == other ? ByteText(self) < ByteText(other) : self < other }
}

extension Hasher {
  /// Adds the bytes of a string to the hash, followed by a terminator.
  package mutating func combine(bytesOf text: String) {
    // A string in another encoding, which can occur on Apple platforms, is converted to UTF-8.
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    combine(0xff as UInt8)
  }
}
