public import Foundation

/// The body of a request.
public enum HTTPBody: Sendable, Hashable {
  /// Bytes.
  case data(Data)
  /// The contents of a file, which is read while the request is sent.
  case file(URL)

  /// The length; `nil` for a pipe or a device.
  var byteCount: Int64? {
    switch self {
    case .data(let data): return Int64(data.count)
    case .file(let url):
      var information = stat()
      guard stat(url.path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
      return Int64(information.st_size)
    }
  }
}
