/// Internal. A text that identifies a file, a key or a node. Two texts are equal if their bytes are.
///
/// Swift's `==` considers two spellings of `é` equal. Files and journals store bytes, in which the spellings differ.
package struct ByteText: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The text.
  package let text: String

  /// Creates the key of a text.
  package init(_ text: String) { self.text = text }

  package static func == (one: ByteText, other: ByteText) -> Bool { one.text.hasBytes(of: other.text) }

  /// Compares the bytes as unsigned numbers.
  package static func < (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: text) }

  /// The text.
  package var description: String { text }

  /// Returns a value for looking up equal keys of a user: strings and substrings are compared by their bytes, and other values by their own `==`.
  static func key(_ value: some Hashable) -> AnyHashable {
    if let text = value as? any StringProtocol { return AnyHashable(ByteText(String(text))) }
    return AnyHashable(value)
  }
}

extension String {
  /// Whether both texts have the same bytes.
  package func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether a text precedes another one: in Swift's order, and in the order of the bytes if Swift considers them equal.
  package func precedes(_ other: String) -> Bool { self == other ? ByteText(self) < ByteText(other) : self < other }
}

extension Hasher {
  /// Adds the bytes of a text, and its end.
  package mutating func combine(bytesOf text: String) {
    // A text of another encoding, as on Apple's platforms, becomes UTF-8.
    var text = text
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
    combine(0xff as UInt8)
  }
}
