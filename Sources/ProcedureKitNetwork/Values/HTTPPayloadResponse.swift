#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A response and its payload. In the response of a network procedure, the payload is either the bytes of the body or the URL of a file
/// that contains them.
public struct HTTPPayloadResponse<Payload: Sendable>: Sendable {
  /// The payload, for example the bytes of the body.
  public var payload: Payload
  /// The response, with its status, header fields, and URL. After a redirect, the URL differs from the requested one.
  public var response: HTTPURLResponse {
    get { received.object }
    set { received = ReceivedResponse(newValue) }
  }
  private var received: ReceivedResponse
  /// The names of the header fields that the redirect policy lists as credentials. Errors must not contain these fields.
  private(set) var credentialHeaders: Set<String>

  /// Whether a redirect to another origin removed `Authorization` from the request to which the server responded.
  var hasLostAuthorization: Bool { received.hasLostAuthorization }

  /// Creates a value from a payload and a response.
  public init(_ payload: Payload, _ response: HTTPURLResponse) {
    self.init(payload, ReceivedResponse(response))
  }

  init(_ payload: Payload, _ received: ReceivedResponse, hiding credentialHeaders: Set<String> = []) {
    self.payload = payload
    self.received = received
    self.credentialHeaders = credentialHeaders
  }

  /// The status code.
  public var status: HTTPStatusCode { HTTPStatusCode(rawValue: received.status) }

  /// Returns the value of the header field with the given name. Names are not case-sensitive.
  public func header(_ name: String) -> String? { received.value(of: name) }

  /// Returns a copy of the response with the result of `transform` as its payload.
  ///
  /// - Throws: The error thrown by `transform`.
  public func map<Other: Sendable>(_ transform: (Payload) throws -> Other) rethrows -> HTTPPayloadResponse<Other> {
    HTTPPayloadResponse<Other>(try transform(payload), received, hiding: credentialHeaders)
  }
}

extension HTTPPayloadResponse: Equatable where Payload: Equatable {
  /// Returns whether two responses and their payloads are equal.
  public static func == (left: HTTPPayloadResponse, right: HTTPPayloadResponse) -> Bool {
    left.payload == right.payload && left.response == right.response
  }
}
