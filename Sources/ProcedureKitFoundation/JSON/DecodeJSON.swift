public import Foundation
public import ProcedureKit

/// Decodes a value from JSON.
///
/// ```swift
/// let load = ReadFile(path).then(DecodeJSON<Kitten> { $0.dateDecodingStrategy = .iso8601 })
/// ```
public struct DecodeJSON<Value: Decodable & Sendable>: Procedure {
  private let configure: @Sendable (JSONDecoder) -> Void

  /// A procedure that decodes.
  ///
  /// - Parameter configure: Called for each run, with a decoder that only this run uses.
  public init(configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }) {
    self.configure = configure
  }

  /// What is decoded, as in "decode Kitten from JSON".
  public var name: String { "decode \(Value.self) from JSON" }

  /// Decodes. A caller that is cancelled before gets nothing; cancelling it later changes nothing.
  ///
  /// - Parameter data: UTF-8, or what else JSON allows.
  /// - Returns: The value.
  /// - Throws: `DecodingError`; `CancellationError` if the task is cancelled before.
  @concurrent public func execute(_ data: Data) async throws -> Value {
    try Task.checkCancellation()
    let decoder = JSONDecoder()
    configure(decoder)
    return try decoder.decode(Value.self, from: data)
  }
}
