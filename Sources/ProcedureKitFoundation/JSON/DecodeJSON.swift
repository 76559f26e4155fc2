public import Foundation
public import ProcedureKit

/// A procedure that decodes a value from JSON.
///
/// ```swift
/// let load = ProcedureTask("load") { try Data(contentsOf: file) }
///   .then(DecodeJSON<Kitten> { $0.dateDecodingStrategy = .iso8601 })
/// ```
public struct DecodeJSON<Value: Decodable & Sendable>: Procedure {
  private let configure: @Sendable (JSONDecoder) -> Void

  /// Creates a procedure that decodes a value.
  ///
  /// - Parameter configure: A closure that configures the decoder. It is called with a new decoder for each run.
  public init(configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }) {
    self.configure = configure
  }

  /// The name of the procedure, which contains the decoded type, for example "decode Kitten from JSON".
  public var name: String { "decode \(Value.self) from JSON" }

  /// Decodes a value. If the caller is cancelled before decoding starts, the function throws an error. A later cancellation has no effect.
  ///
  /// - Parameter data: The JSON, in UTF-8 or another encoding that JSON allows.
  /// - Returns: The value.
  /// - Throws: `DecodingError` if the data does not represent a value of this type; `CancellationError` if the caller is cancelled
  ///   before decoding starts.
  @concurrent public func execute(_ data: Data) async throws -> Value {
    try ProcedureContext.checkCancellation()
    let decoder = JSONDecoder()
    configure(decoder)
    return try decoder.decode(Value.self, from: data)
  }
}
