import ProcedureKit

/// A value in a JSON text, together with its position.
struct JSONValue: Sendable {
  enum Content: Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(SystemText)
    case array([JSONValue])
    case object([Member])
  }

  struct Member: Sendable {
    let key: SystemText
    /// The position of the key, in bytes from the beginning of the text.
    let offset: Int
    let value: JSONValue
  }

  let content: Content
  /// The position of the first byte, in bytes from the beginning of the text.
  let offset: Int

  /// The kind of the value as it appears in messages.
  var kind: String {
    switch content {
    case .null: "null"
    case .boolean: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

/// An error at a position in the text.
struct Problem: Error, Equatable {
  /// The position, in bytes from the beginning of the text.
  let offset: Int
  let message: String
}
