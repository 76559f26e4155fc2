import Foundation

/// The transport for procedures that do not specify one.
///
/// The default is ``CurlTransport`` on Linux if libcurl is available, and ``URLSessionTransport`` otherwise. For tests and comparisons, set
/// the environment variable `PROCEDUREKIT_HTTP_TRANSPORT` to `URLSession` to use ``URLSessionTransport`` everywhere.
public enum DefaultHTTPTransport {
  /// The default transport.
  public static let shared: any HTTPTransport = {
    let choice = ProcessInfo.processInfo.environment["PROCEDUREKIT_HTTP_TRANSPORT"]?.lowercased()
    if choice != "urlsession", let transport = CurlTransport.shared { return transport }
    return URLSessionTransport.shared
  }()
}
