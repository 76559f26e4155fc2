#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The input of a network procedure: a `URLRequest`, an ``HTTPPayloadRequest``, or your own type that contains one of these.
///
/// The modifier `resilient()` reads the request to decide whether it can be repeated, and `authorized(by:)` adds a header field to it.
public protocol NetworkRequest: Sendable {
  /// The underlying `URLRequest`.
  var urlRequest: URLRequest { get set }
}

extension URLRequest: NetworkRequest {
  /// The request itself.
  public var urlRequest: URLRequest {
    get { self }
    set { self = newValue }
  }
}
