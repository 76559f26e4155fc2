import Foundation

/// The transport for procedures that do not specify one.
///
/// This is ``CurlTransport`` where libcurl is available (on Linux), and ``URLSessionTransport`` elsewhere. If the environment variable
/// `PROCEDUREKIT_HTTP_TRANSPORT` is set to `URLSession`, it is ``URLSessionTransport`` everywhere, for tests and comparisons.
public enum DefaultHTTPTransport {
  /// The default transport.
  public static let shared: any HTTPTransport = {
    let choice = ProcessInfo.processInfo.environment["PROCEDUREKIT_HTTP_TRANSPORT"]?.lowercased()
    if choice != "urlsession", let transport = CurlTransport.shared { return transport }
    return URLSessionTransport.shared
  }()
}
