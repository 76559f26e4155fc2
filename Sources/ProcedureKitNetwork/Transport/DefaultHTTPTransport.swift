import Foundation

/// The choice of the transport of procedures that name none.
///
/// That is ``CurlTransport`` where libcurl is found (on Linux), and ``URLSessionTransport`` elsewhere. The environment variable
/// `PROCEDUREKIT_HTTP_TRANSPORT` with the value `URLSession` chooses the latter everywhere, for tests and for comparison.
public enum DefaultHTTPTransport {
  /// The transport.
  public static let shared: any HTTPTransport = {
    let choice = ProcessInfo.processInfo.environment["PROCEDUREKIT_HTTP_TRANSPORT"]?.lowercased()
    if choice != "urlsession", let transport = CurlTransport.shared { return transport }
    return URLSessionTransport.shared
  }()
}
