import Foundation

/// A type that converts values to bytes and back, so that the values can leave the process or outlive it.
///
/// The protocol does not require a particular format. ``JSONProcedureCoder`` writes JSON.
public protocol ProcedureCoder: Sendable {
  /// Encodes a value as bytes. Equal values result in equal bytes if their `encode(to:)` always encodes elements in the same order.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The encoded value, which can be empty.
  /// - Throws: `EncodingError`, or an error that is specific to the coder, if the value cannot be encoded.
  func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]

  /// Decodes a value from bytes.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - bytes: The bytes that a coder of the same type returned from ``encode(_:)``. They may have been damaged since then.
  /// - Returns: The value.
  /// - Throws: `DecodingError`, or an error that is specific to the coder, if the bytes do not represent a value of this type. Damaged
  ///   bytes never cause a trap.
  func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}

/// A coder that writes JSON with sorted keys.
///
/// Infinity and NaN are encoded as strings. Two equal values can be encoded differently if they contain a `Set`, or a `Dictionary` whose
/// keys are neither `String` nor `Int`, because the elements have no fixed order.
public struct JSONProcedureCoder: ProcedureCoder {
  /// Creates a coder.
  public init() {}

  /// Encodes a value as JSON in UTF-8.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The JSON, without spaces or line breaks between its parts.
  /// - Throws: `EncodingError` if JSON cannot represent the value; any error thrown by the value's own `encode(to:)`.
  public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return [UInt8](try encoder.encode(value))
  }

  /// Decodes a value from JSON.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - bytes: The JSON, in UTF-8 or another encoding that JSON allows.
  /// - Returns: The value.
  /// - Throws: `DecodingError` if the bytes do not represent a value of this type; any error thrown by the value's own `init(from:)`.
  public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return try decoder.decode(type, from: Data(bytes))
  }
}
