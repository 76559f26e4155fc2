/// Converts values to bytes and back, for a value that leaves the process or outlives it.
///
/// The core knows no format. `JSONProcedureCoder` of ProcedureKitFoundation writes JSON.
public protocol ProcedureCoder: Sendable {
  /// Returns a value as bytes. Equal values give equal bytes, so far as the value's own `encode(to:)` has a fixed order.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The bytes. They may be empty.
  /// - Throws: `EncodingError`, or an error of the coder.
  func encode<Value: Encodable>(_ value: Value) throws -> [UInt8]

  /// Returns the value that bytes stand for.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - bytes: Bytes from ``encode(_:)`` of the same kind of coder, possibly damaged on their way.
  /// - Returns: The value.
  /// - Throws: `DecodingError`, or an error of the coder. Damaged bytes never trap.
  func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value
}
