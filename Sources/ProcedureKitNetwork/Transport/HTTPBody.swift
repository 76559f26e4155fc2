public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The body of a request.
@nonexhaustive
public enum HTTPBody: Sendable, Hashable {
  /// Bytes in memory.
  case data(Data)
  /// The contents of a regular file, which is read while the request is being sent.
  ///
  /// The transfer fails if the URL refers to a folder, a pipe or a device. Reading from a pipe, for example, can block a thread forever.
  /// Send the bytes of a pipe or a device as a ``stream(_:)`` instead.
  case file(URL)
  /// Bytes that are produced while the request is being sent.
  case stream(HTTPBodyStream)

  /// Whether the body is known to be empty before it is read.
  var isEmpty: Bool {
    if case .data(let data) = self { data.isEmpty } else { false }
  }

  /// The length in bytes; `nil` for a stream of unknown length, and for a URL that does not refer to a regular file.
  var byteCount: Int64? {
    switch self {
    case .data(let data): return Int64(data.count)
    case .file(let url):
      var information = stat()
      guard stat(url.path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
      return Int64(information.st_size)
    case .stream(let stream): return stream.byteCount
    }
  }

  /// Calls `body` with each piece of the body.
  ///
  /// - Throws: ``NetworkError`` of kind `fileFailed` if the body is a file that cannot be read; any error thrown by the stream or by
  ///   `body`.
  func forEachPiece(_ request: URLRequest, _ body: (Data) async throws -> Void) async throws {
    switch self {
    case .data(let data): try await body(data)
    case .file(let url):
      let handle = try Self.open(url, request)
      defer { try? handle.close() }
      while true {
        let piece: Data?
        do { piece = try handle.read(upToCount: Self.filePiece) } catch { throw fileError(request, error) }
        guard let piece, !piece.isEmpty else { return }
        try await body(piece)
      }
    case .stream(let stream): try await stream.forEachPiece(body)
    }
  }

  /// Checks that the body's file, if any, can be read. This function is called before a connection is made.
  func checkFile(_ request: URLRequest) throws(NetworkError) {
    guard case .file(let url) = self else { return }
    let handle = try Self.open(url, request)
    try? handle.close()
  }

  private static func open(_ url: URL, _ request: URLRequest) throws(NetworkError) -> FileHandle {
    guard !url.containsNUL else { throw NetworkError(.fileFailed, request, "the file's path contains a NUL character") }
    // The file is opened without waiting, because opening a pipe would otherwise block until the pipe has a writer. Child processes do not
    // inherit the open file.
    let descriptor = url.withUnsafeFileSystemRepresentation { path in
      path.map { Foundation.open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC) } ?? -1
    }
    guard descriptor >= 0 else {
      let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      throw NetworkError(.fileFailed, request, "the file \(url.path) could not be read", underlying: error)
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var information = stat()
    guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
      let kind = information.st_mode & S_IFMT == S_IFDIR ? "a folder" : "not a regular file. Send its bytes as a stream"
      throw NetworkError(.fileFailed, request, "\(url.path) is \(kind)")
    }
    return handle
  }

  private static let filePiece = 128 << 10

  private func fileError(_ request: URLRequest, _ error: any Error) -> NetworkError {
    guard case .file(let url) = self else { return lengthError(request) }
    return NetworkError(.fileFailed, request, "the file \(url.path) could not be read", underlying: error)
  }

  /// Returns the error for a body whose actual length differs from the expected length.
  func lengthError(_ request: URLRequest) -> NetworkError {
    guard case .file(let url) = self else {
      return NetworkError(.fileFailed, request, "the body's stream did not produce exactly byteCount bytes")
    }
    return NetworkError(.fileFailed, request, "the file \(url.path) changed while it was being sent")
  }
}

/// A body whose bytes are produced while they are being sent. Even a large body needs little memory.
///
/// ```swift
/// let body = HTTPBody.stream(HTTPBodyStream { lines.map { Data($0.utf8) } })
/// ```
///
/// ``CurlTransport`` requests each piece once libcurl has taken the previous one. When the transfer ends, it cancels the task that iterates
/// over the sequence of pieces, and waits for that task. ``URLSessionTransport`` first writes all pieces to a temporary file. If the
/// sequence throws an error, the transfer ends, and that error becomes the ``NetworkError/underlying`` error of a ``NetworkError``. Two
/// streams are equal if one is a copy of the other.
public struct HTTPBodyStream: Sendable, Hashable {
  private final class Identity: Sendable {}

  /// The length of the body in bytes. If it is `nil`, ``CurlTransport`` sends the body in chunks, which some servers refuse.
  public let byteCount: Int64?
  private let identity = Identity()
  private let iterate: @Sendable ((Data) async throws -> Void) async throws -> Void

  /// Creates a body.
  ///
  /// - Parameters:
  ///   - byteCount: The length of the body in bytes, if it is known. If the pieces have a different total length, the transfer fails.
  ///   - makePieces: A closure that returns the bytes in pieces. It is called each time the body is sent, which can be more than once
  ///     because of redirects and retries.
  public init<Pieces: AsyncSequence & SendableMetatype>(
    byteCount: Int64? = nil, _ makePieces: @escaping @Sendable () -> Pieces
  ) where Pieces.Element == Data, Pieces.AsyncIterator: SendableMetatype {
    self.byteCount = byteCount
    iterate = { body in
      for try await piece in makePieces() where !piece.isEmpty { try await body(piece) }
    }
  }

  func forEachPiece(_ body: (Data) async throws -> Void) async throws { try await iterate(body) }

  /// Returns whether one of two streams is a copy of the other.
  public static func == (left: HTTPBodyStream, right: HTTPBodyStream) -> Bool { left.identity === right.identity }

  /// Hashes the identity of the stream.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}
