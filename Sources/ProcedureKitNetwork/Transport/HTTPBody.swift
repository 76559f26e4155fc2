public import Foundation

/// The body of a request.
public enum HTTPBody: Sendable, Hashable {
  /// Bytes.
  case data(Data)
  /// The contents of a file, which is read while the request is sent.
  case file(URL)
}
