#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A response, and the payload that came with the response: the bytes of the body, or the file that holds them.
public struct HTTPPayloadResponse<Payload: Sendable>: Sendable {
  /// The payload.
  public var payload: Payload
  /// The status, the header fields, and the URL that has answered, which is another than the requested one after a redirect.
  public var response: HTTPURLResponse

  /// Creates a response.
  public init(_ payload: Payload, _ response: HTTPURLResponse) {
    self.payload = payload
    self.response = response
  }

  /// The status code.
  public var status: HTTPStatusCode { HTTPStatusCode(rawValue: response.statusCode) }

  /// Returns the value of a header field, whose name is compared without regard to case.
  public func header(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }

  /// Returns the response with another payload.
  ///
  /// - Throws: The error of `transform`.
  public func map<Other: Sendable>(_ transform: (Payload) throws -> Other) rethrows -> HTTPPayloadResponse<Other> {
    HTTPPayloadResponse<Other>(try transform(payload), response)
  }
}

extension HTTPPayloadResponse: Equatable where Payload: Equatable {}
