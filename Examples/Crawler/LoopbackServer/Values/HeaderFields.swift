/// The header fields of a request or a response, in order. Their names are not case-sensitive.
public struct HeaderFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// A header field, which consists of a name and a value.
  public struct Field: Sendable, Equatable {
    /// The name, spelled as it was sent.
    public var name: String
    /// The value, without leading and trailing white space.
    public var value: String
  }

  /// The fields, in order.
  public var fields: [Field] = []

  /// Creates fields from a dictionary literal, in which a name can occur more than once.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0, value: $1) }
  }

  /// The value of the first field with the given name. Setting a value replaces all fields with that name.
  public subscript(name: String) -> String? {
    get { fields.first { Self.isSame($0.name, name) }?.value }
    set {
      fields.removeAll { Self.isSame($0.name, name) }
      if let newValue { append(name, newValue) }
    }
  }

  /// Adds a field at the end, and keeps other fields with the same name.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  private static func isSame(_ first: String, _ second: String) -> Bool {
    first.lowercased() == second.lowercased()
  }
}
