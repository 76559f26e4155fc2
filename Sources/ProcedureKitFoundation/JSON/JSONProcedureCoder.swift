import Foundation

/// Converts values to bytes and back, for values that leave the process or outlive it.
///
/// The protocol does not require a particular format. ``JSONProcedureCoder`` writes JSON.
public protocol ProcedureCoder: Sendable {
  /// Returns a value as bytes. Equal values give equal bytes if the value's own `encode(to:)` has a fixed order.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The bytes. They may be empty.
  /// - Throws: `EncodingError`, or an error of the coder.
  func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]

  /// Returns the value that bytes represent.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - bytes: Bytes that a coder of the same kind returned from ``encode(_:)``, possibly damaged.
  /// - Returns: The value.
  /// - Throws: `DecodingError`, or an error of the coder. Damaged bytes never cause a trap.
  func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}

/// A coder that writes JSON with sorted keys.
///
/// Infinity and NaN are written as text. A `Set`, or a `Dictionary` whose keys are neither `String` nor `Int`, has no fixed order, so two
/// equal values can give different bytes.
public struct JSONProcedureCoder: ProcedureCoder {
  /// Creates a coder.
  public init() {}

  /// Returns a value as UTF-8 encoded JSON.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The bytes, without spaces and line breaks.
  /// - Throws: `EncodingError`; any error thrown by the value's own `encode(to:)`.
  public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return [UInt8](try encoder.encode(value))
  }

  /// Returns the value that a JSON text represents.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - bytes: UTF-8, or another encoding that JSON allows.
  /// - Returns: The value.
  /// - Throws: `DecodingError`; any error thrown by the value's own `init(from:)`.
  public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return try decoder.decode(type, from: Data(bytes))
  }
}
