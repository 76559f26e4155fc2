import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A file that receives a response body in one or more attempts. It is written in the destination's folder, and moved to the destination
/// once it is complete.
///
/// The file exists from the first attempt until it is moved, ``remove()`` is called, or the object is deallocated.
final class PartialFile: BodySink {
  private struct State {
    var handle: FileHandle?
    var count: Int64 = 0
    /// The value of `If-Range` for requesting the rest of the file; `nil` if the download has to start from the beginning.
    var validator: String?
    /// The file version to which the received bytes belong.
    var version: Version?
    /// The length of the complete file, if known.
    var total: Int64?
    /// The range of bytes that the response contains; `nil` if the response contains the complete file.
    var part: Range<Int64>?
    var head: (request: URLRequest, response: HTTPURLResponse)?
    /// Whether the current attempt has requested the rest of the file.
    var asksForRest = false
  }

  let destination: URL
  private let limit: Int64
  private let place: URL
  private let state = Mutex(State())

  init(for destination: URL, limit: Int64) {
    self.destination = destination
    self.limit = limit
    place = destination.deletingLastPathComponent().appending(path: ".\(UUID().uuidString).part")
  }

  deinit {
    remove()
  }

  /// Creates the file for the first attempt. This happens before a connection is made, so an unwritable folder is reported before any
  /// request is sent.
  func open(for request: URLRequest) throws(NetworkError) {
    guard state.withLock({ $0.handle == nil }) else { return }
    do {
      guard destination.isFileURL else { throw CocoaError(.fileWriteUnsupportedScheme) }
      guard !destination.containsNUL else { throw CocoaError(.fileWriteInvalidFileName) }
      // Child processes do not inherit the open file.
      let descriptor = place.withUnsafeFileSystemRepresentation { path in
        path.map { Foundation.open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) } ?? -1
      }
      guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      state.withLock { $0.handle = handle }
    } catch {
      throw failure(request, nil, error)
    }
  }

  /// Returns a request for the rest of the file. If nothing has been received, or if the version of the file is unknown, returns a request
  /// for the complete file.
  func asking(_ request: URLRequest) -> URLRequest {
    var request = request
    // If the caller requests a range, that range is the complete file for this download.
    guard request.value(forHTTPHeaderField: "Range") == nil else { return request }
    if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    let rest = state.withLock { state -> (from: Int64, of: String)? in
      state.asksForRest = state.count > 0 && state.validator != nil
      return state.asksForRest ? state.validator.map { (state.count, $0) } : nil
    }
    guard let rest else { return request }
    request.setValue("bytes=\(rest.from)-", forHTTPHeaderField: "Range")
    request.setValue(rest.of, forHTTPHeaderField: "If-Range")
    return request
  }

  /// Returns the next request after a redirect, without the changes that ``asking(_:)`` made to the header fields of the first request.
  static func withoutPart(_ next: URLRequest, of request: URLRequest) -> URLRequest {
    var next = next
    // A field that the redirect removed is not restored.
    for name in ["Range", "If-Range", "Accept-Encoding"] where next.value(forHTTPHeaderField: name) != nil {
      next.setValue(request.value(forHTTPHeaderField: name), forHTTPHeaderField: name)
    }
    return next
  }

  /// Ensures that the next request is for the complete file. The received bytes are discarded when the response to that request begins.
  /// Returns whether the current attempt has requested the rest of the file.
  func forget() -> Bool {
    state.withLock { state in
      defer { state.validator = nil }
      return state.asksForRest
    }
  }

  // MARK: The body

  func begin(_ received: ReceivedResponse, to request: URLRequest, length: Int64?) throws -> BodyStart {
    let response = received.object
    let (handle, count, asksForRest) = state.withLock { ($0.handle, $0.count, $0.asksForRest) }
    let range = response.value(forHTTPHeaderField: "Content-Range").flatMap(ContentRange.init)
    let isRest = response.statusCode == 206 && asksForRest
    if isRest, !continues(response, range) {
      state.withLock { $0.validator = nil }
      throw NetworkError(
        .incomplete, request, "the server did not send the requested part", response: response)
    }
    if response.statusCode == 206, request.value(forHTTPHeaderField: "Range") == nil {
      throw NetworkError(.incomplete, request, "the server sent a part that was not requested", response: response)
    }
    let total = isRest ? state.withLock { $0.total } ?? range?.total : length
    guard max(total ?? 0, (isRest ? count : 0) + (length ?? 0)) <= limit else { throw tooLarge(request, response) }
    if !isRest {
      do { try handle?.truncate(atOffset: 0) } catch { throw failure(request, response, error) }
    }
    return state.withLock { state in
      if !isRest {
        state.count = 0
        state.version = Version(response)
        state.validator = state.version?.validator
      }
      state.part = isRest ? range?.bytes : nil
      state.total = total
      state.head = (request, response)
      return BodyStart(receivedCount: state.count, total: total)
    }
  }

  /// Returns whether a part belongs to the same version of the file as the received bytes, and starts where they end. A server may ignore
  /// `If-Range`, so the response itself has to be checked.
  private func continues(_ part: HTTPURLResponse, _ range: ContentRange?) -> Bool {
    let (count, total, version) = state.withLock { ($0.count, $0.total, $0.version) }
    guard let range, range.bytes.lowerBound == count, let version, version.isSame(as: part) else { return false }
    guard let total else { return true }
    return (range.total ?? total) == total && range.bytes.upperBound <= total
  }

  /// Whether the current part has been received completely, and another part has to be requested.
  ///
  /// If the length of the file is unknown, another part is requested after every part, because only the next response shows whether more
  /// bytes follow.
  var needsNextPart: Bool {
    state.withLock { state in
      guard let part = state.part, state.count == part.upperBound else { return false }
      return state.total.map { state.count < $0 } ?? true
    }
  }

  /// If `response` shows that the file is complete, returns the head of the response that contained the last part. Otherwise, returns
  /// `nil`.
  func end(at response: HTTPURLResponse?) -> HTTPURLResponse? {
    let length = response?.value(forHTTPHeaderField: "Content-Range")?.wholeMatch(
      of: /bytes +\*\/(\d{1,18})/.ignoresCase())
    return state.withLock { state in
      guard let response, let length, state.part != nil, state.total == nil, Int64(length.1) == state.count,
        state.version?.isSame(as: response) == true
      else { return nil }
      state.total = state.count
      return state.head?.response
    }
  }

  func receive(_ data: Data) throws {
    let (handle, count, head) = state.withLock { ($0.handle, $0.count + Int64(data.count), $0.head) }
    guard let handle, let head else { return }
    guard count <= limit else { throw tooLarge(head.request, head.response) }
    if let part = state.withLock({ $0.part }), count > part.upperBound {
      state.withLock { $0.validator = nil }
      throw NetworkError(
        .incomplete, head.request, "the server sent more bytes than it announced", response: head.response)
    }
    do { try handle.write(contentsOf: data) } catch { throw failure(head.request, head.response, error) }
    state.withLock { $0.count = count }
  }

  // MARK: The end

  /// Moves the complete file to the destination, where it replaces any existing file.
  func moveToDestination() throws(NetworkError) {
    let (count, total, head) = state.withLock { ($0.count, $0.total, $0.head) }
    guard let head else { return }
    for length in [state.withLock({ $0.part })?.upperBound, total] {
      guard let length, length != count else { continue }
      let detail = "the response body is incomplete: received \(count) of \(length.counting("byte"))"
      throw NetworkError(.incomplete, head.request, detail, response: head.response)
    }
    closeFile()
    guard rename(place.path, destination.path) == 0 else {
      throw failure(head.request, head.response, POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO))
    }
  }

  /// Removes the file unless it has been moved to the destination.
  func remove() {
    closeFile()
    try? FileManager.default.removeItem(at: place)
  }

  private func closeFile() {
    let handle = state.withLock { state in
      defer { state.handle = nil }
      return state.handle
    }
    try? handle?.close()
  }

  private func tooLarge(_ request: URLRequest, _ response: HTTPURLResponse) -> NetworkError {
    NetworkError(.tooLarge, request, limit.counting("byte"), response: response)
  }

  private func failure(_ request: URLRequest, _ response: HTTPURLResponse?, _ error: any Error) -> NetworkError {
    NetworkError(
      .fileFailed, request, "\(destination.path) could not be written", response: response, underlying: error)
  }
}

extension URL {
  /// Whether the path contains a NUL character. The system would truncate the path at that character.
  var containsNUL: Bool { path.utf8.contains(0) || absoluteString.contains("%00") }
}
