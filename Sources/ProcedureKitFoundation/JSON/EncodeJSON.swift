public import Foundation
public import ProcedureKit

/// A procedure that encodes a value as JSON.
///
/// ```swift
/// let save = EncodeJSON<Kitten> { $0.outputFormatting = [.sortedKeys] }
///   .then(ProcedureTask("save") { (json: Data) in try json.write(to: file) })
/// ```
public struct EncodeJSON<Value: Encodable & Sendable>: Procedure {
  private let configure: @Sendable (JSONEncoder) -> Void

  /// Creates a procedure that encodes a value.
  ///
  /// - Parameter configure: A closure that configures the encoder. It is called with a new encoder for each run.
  public init(configure: @escaping @Sendable (JSONEncoder) -> Void = { _ in }) {
    self.configure = configure
  }

  /// The name of the procedure, which contains the encoded type, for example "encode Kitten as JSON".
  public var name: String { "encode \(Value.self) as JSON" }

  /// Encodes a value. If the caller is cancelled before encoding starts, the function throws an error. A later cancellation has no effect.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The value as JSON, encoded in UTF-8.
  /// - Throws: `EncodingError` if JSON cannot represent the value; `CancellationError` if the caller is cancelled before encoding starts.
  @concurrent public func execute(_ value: Value) async throws -> Data {
    try ProcedureContext.checkCancellation()
    let encoder = JSONEncoder()
    configure(encoder)
    return try encoder.encode(value)
  }
}
