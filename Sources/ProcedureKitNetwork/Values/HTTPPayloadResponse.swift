#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A response and its payload, which is the bytes of the body or the file that contains them.
public struct HTTPPayloadResponse<Payload: Sendable>: Sendable {
  /// The payload.
  public var payload: Payload
  /// The status, the header fields, and the URL that answered. After a redirect, it differs from the requested URL.
  public var response: HTTPURLResponse {
    get { received.object }
    set { received = ReceivedResponse(newValue) }
  }
  private var received: ReceivedResponse

  /// Internal. Whether a redirect to another origin removed `Authorization` from the request that was answered.
  var hasLostAuthorization: Bool { received.hasLostAuthorization }

  /// Creates a response.
  public init(_ payload: Payload, _ response: HTTPURLResponse) {
    self.init(payload, ReceivedResponse(response))
  }

  init(_ payload: Payload, _ received: ReceivedResponse) {
    self.payload = payload
    self.received = received
  }

  /// The status code.
  public var status: HTTPStatusCode { HTTPStatusCode(rawValue: received.status) }

  /// Returns the value of a header field. Its name is compared without regard to case.
  public func header(_ name: String) -> String? { received.value(of: name) }

  /// Returns the response with another payload.
  ///
  /// - Throws: The error thrown by `transform`.
  public func map<Other: Sendable>(_ transform: (Payload) throws -> Other) rethrows -> HTTPPayloadResponse<Other> {
    HTTPPayloadResponse<Other>(try transform(payload), received)
  }
}

extension HTTPPayloadResponse: Equatable where Payload: Equatable {
  /// Compares the payloads and the responses.
  public static func == (left: HTTPPayloadResponse, right: HTTPPayloadResponse) -> Bool {
    left.payload == right.payload && left.response == right.response
  }
}
