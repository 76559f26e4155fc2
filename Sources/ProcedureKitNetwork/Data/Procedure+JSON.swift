public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Procedure where Output == HTTPPayloadResponse<Data> {
  /// Returns the procedure with the value that is decoded from the JSON of the response.
  ///
  /// ```swift
  /// let load = NetworkDataProcedure("load").resilient().json(Kitten.self)
  /// ```
  ///
  /// A status other than 200 … 299 fails with ``NetworkError/Kind-swift.struct/unacceptableStatus``, and a body that is not
  /// the expected JSON with ``NetworkError/Kind-swift.struct/undecodable``.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - configure: Configures the decoder. `configure` is called for each response, with a new decoder.
  /// - Returns: The procedure with the value instead of the response.
  public func json<Value: Decodable & Sendable>(
    _ type: Value.Type, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) -> ProcedureTask<Input, Value> {
    map { try $0.decoded(as: type, configure: configure) }
  }
}

extension HTTPPayloadResponse<Data> {
  /// Returns the value that is decoded from the JSON of the response.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - configure: Configures the decoder, which is new.
  /// - Returns: The value.
  /// - Throws: ``NetworkError`` for a status other than 200 … 299, and for other JSON than the type's.
  public func decoded<Value: Decodable>(
    as type: Value.Type, configure: (JSONDecoder) -> Void = { _ in }
  ) throws(NetworkError) -> Value {
    // The response does not say by which method the server was asked.
    let request = URLRequest(url: response.url ?? URL(filePath: "/"))
    let subject = "a request for \(request.address)"
    guard status.isSuccess else {
      throw NetworkError(
        .unacceptableStatus, request, response: response, body: payload.prefix(NetworkError.bodyLimit),
        subject: subject)
    }
    let decoder = JSONDecoder()
    configure(decoder)
    do {
      return try decoder.decode(type, from: payload)
    } catch {
      throw NetworkError(
        .undecodable, request, "\(type)", response: response, body: payload.prefix(NetworkError.bodyLimit),
        underlying: error, subject: subject)
    }
  }
}
