public import Foundation
public import ProcedureKit

/// Encodes a value as JSON.
///
/// ```swift
/// let save = EncodeJSON<Kitten> { $0.outputFormatting = [.sortedKeys] }.then(WriteFile(path))
/// ```
public struct EncodeJSON<Value: Encodable & Sendable>: Procedure {
  private let configure: @Sendable (JSONEncoder) -> Void

  /// A procedure that encodes.
  ///
  /// - Parameter configure: Called for each run, with an encoder that only this run uses.
  public init(configure: @escaping @Sendable (JSONEncoder) -> Void = { _ in }) {
    self.configure = configure
  }

  /// What is encoded, as in "encode Kitten as JSON".
  public var name: String { "encode \(Value.self) as JSON" }

  /// Encodes. A caller that is cancelled before gets nothing; cancelling it later changes nothing.
  ///
  /// - Parameter value: What is to be encoded.
  /// - Returns: UTF-8.
  /// - Throws: `EncodingError`; `CancellationError` if the task is cancelled before.
  @concurrent public func execute(_ value: Value) async throws -> Data {
    try Task.checkCancellation()
    let encoder = JSONEncoder()
    configure(encoder)
    return try encoder.encode(value)
  }
}
