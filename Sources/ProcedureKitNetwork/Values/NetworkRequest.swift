#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The input of a network procedure: a `URLRequest`, an ``HTTPPayloadRequest``, or your own type that contains one of these.
///
/// The modifier `resilient()` reads the method of the request, and `authorized(by:)` adds a header field.
public protocol NetworkRequest: Sendable {
  /// The request.
  var urlRequest: URLRequest { get set }
}

extension URLRequest: NetworkRequest {
  /// The request itself.
  public var urlRequest: URLRequest {
    get { self }
    set { self = newValue }
  }
}
