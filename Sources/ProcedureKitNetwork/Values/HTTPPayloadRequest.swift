public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The input of a ``NetworkUploadProcedure``: a request together with its body.
public struct HTTPPayloadRequest: NetworkRequest, Hashable {
  /// The body of the request.
  public var body: HTTPBody
  /// The method, the URL and the header fields of the request.
  public var urlRequest: URLRequest

  /// Creates a request with a body.
  ///
  /// - Parameters:
  ///   - body: The body to send.
  ///   - urlRequest: The method, the URL and the header fields of the request. Its `httpBody` must be `nil`.
  public init(_ body: HTTPBody, _ urlRequest: URLRequest) {
    self.body = body
    self.urlRequest = urlRequest
  }

  /// Creates a request to a URL.
  ///
  /// - Parameters:
  ///   - body: The body to send.
  ///   - url: The URL to which the request is sent.
  ///   - method: The method, for example `POST` or `PUT`.
  ///   - contentType: The media type of the body.
  public init(
    _ body: HTTPBody, to url: URL, method: String = "POST", contentType: String = "application/octet-stream"
  ) {
    self.init(body, URLRequest(url: url))
    urlRequest.httpMethod = method
    urlRequest.put(contentType, inField: "Content-Type")
  }

  /// Creates a request whose body is a value encoded as JSON.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - url: The URL to which the request is sent.
  ///   - method: The method, for example `POST` or `PUT`.
  ///   - configure: A closure that configures the encoder.
  /// - Returns: The request.
  /// - Throws: `EncodingError` if the value cannot be encoded.
  public static func json(
    _ value: some Encodable, to url: URL, method: String = "POST", configure: (JSONEncoder) -> Void = { _ in }
  ) throws -> HTTPPayloadRequest {
    let encoder = JSONEncoder()
    configure(encoder)
    let body = HTTPBody.data(try encoder.encode(value))
    return HTTPPayloadRequest(body, to: url, method: method, contentType: "application/json")
  }
}
