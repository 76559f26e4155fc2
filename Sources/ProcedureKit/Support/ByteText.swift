/// Internal. A text that identifies something: a file, a key, a node. Two are equal if their bytes are.
///
/// Swift's `==` takes two spellings of `é` for one text. Files and journals store bytes, in which they are two.
package struct ByteText: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The text.
  package let text: String

  /// Makes the key of a text.
  package init(_ text: String) { self.text = text }

  package static func == (one: ByteText, other: ByteText) -> Bool { one.text.hasBytes(of: other.text) }

  /// Compares the bytes as unsigned numbers.
  package static func < (one: ByteText, other: ByteText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: text) }

  /// The text.
  package var description: String { text }

  /// Returns a value by which equal keys of a user are found: of a text, or a part of one, the bytes; of everything else what its own `==`
  /// says.
  static func key(_ value: some Hashable) -> AnyHashable {
    if let text = value as? any StringProtocol { return AnyHashable(ByteText(String(text))) }
    return AnyHashable(value)
  }
}

extension String {
  /// Whether both texts have the same bytes.
  package func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether a text comes before another one: in Swift's order, and in the order of the bytes where Swift sees one text.
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
