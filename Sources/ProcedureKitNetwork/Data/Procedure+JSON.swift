public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Procedure where Output == HTTPPayloadResponse<Data> {
  /// Returns a procedure that decodes its output from the JSON in the response.
  ///
  /// ```swift
  /// let load = NetworkDataProcedure("load").resilient().json(Kitten.self)
  /// ```
  ///
  /// The procedure fails with ``NetworkError/Kind-swift.struct/unacceptableStatus`` if the status is not in the range from 200 to 299, and
  /// with ``NetworkError/Kind-swift.struct/undecodable`` if the body is not the expected JSON.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - configure: A closure that configures the decoder. It is called with a new decoder for each response.
  /// - Returns: A procedure that returns the value instead of the response.
  public func json<Value: Decodable & Sendable>(
    _ type: Value.Type, configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) -> ProcedureTask<Input, Value> {
    map { try $0.decoded(as: type, configure: configure) }
  }
}

extension HTTPPayloadResponse<Data> {
  /// Decodes a value from the JSON in the response.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - configure: A closure that configures a new decoder.
  /// - Returns: The value.
  /// - Throws: ``NetworkError`` if the status is not in the range from 200 to 299, or if the body cannot be decoded as the type.
  public func decoded<Value: Decodable>(
    as type: Value.Type, configure: (JSONDecoder) -> Void = { _ in }
  ) throws(NetworkError) -> Value {
    // The response does not reveal which method the request used.
    let request = URLRequest(url: response.url ?? URL(filePath: "/"))
    let subject = "a request for \(request.address)"
    guard status.isSuccess else {
      throw NetworkError(
        .unacceptableStatus, request, response: response, body: payload.prefix(NetworkError.bodyLimit),
        subject: subject
      ).hiding(credentialHeaders)
    }
    let decoder = JSONDecoder()
    configure(decoder)
    do {
      return try decoder.decode(type, from: payload)
    } catch {
      throw NetworkError(
        .undecodable, request, "\(type)", response: response, body: payload.prefix(NetworkError.bodyLimit),
        underlying: error, subject: subject
      ).hiding(credentialHeaders)
    }
  }
}
