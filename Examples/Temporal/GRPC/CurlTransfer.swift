import Foundation
import LoadedLibraries

/// A request and its response.
///
/// The invariant that justifies `@unchecked Sendable`: the caller creates the transfer, and reads the response after the transfer ends. In
/// between, only the loop's thread uses the transfer.
final class CurlTransfer: @unchecked Sendable {
  enum End {
    case done(Int32)
    case cancelled
  }

  /// The maximum size of a response in bytes. The server sends messages of at most 4 MiB.
  static let largestBody = 16 << 20
  private static let largestHead = 1 << 20

  let handle: OpaquePointer
  var continuation: CheckedContinuation<Void, Never>?
  var isCancelled = false
  private(set) var end = End.cancelled
  private(set) var body: [UInt8] = []
  /// The last value of each header and trailer, keyed by its name in lower case.
  private(set) var headers: [String: String] = [:]
  private var headSize = 0
  private var list: OpaquePointer?
  private let callbacks = UnsafeMutablePointer<pk_curl_callbacks>.allocate(capacity: 1)

  init(_ url: String, _ body: [UInt8], headers: [String], timeout: Duration) {
    guard let handle = pk_curl_easy_init() else { fatalError("there is not enough memory for a transfer") }
    self.handle = handle
    for header in headers { list = pk_curl_list_append(list, header) ?? list }
    pk_curl_set_text(handle, CURLOPT_URL, url)
    pk_curl_set_text(handle, CURLOPT_PROXY, "")
    pk_curl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
    // Before version 8, libcurl cannot reuse a connection that uses HTTP/2 with prior knowledge, so each request opens a new one.
    pk_curl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
    pk_curl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
    _ = body.withUnsafeBytes { pk_curl_set_post(handle, $0.baseAddress, Int64(body.count)) }
    pk_curl_set_list(handle, CURLOPT_HTTPHEADER, list)
    pk_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, 2_000)
    pk_curl_set_long(handle, CURLOPT_TIMEOUT_MS, Int(timeout / .milliseconds(1)) + 2_000)
    let this = Unmanaged.passUnretained(self).toOpaque()
    callbacks.initialize(
      to: pk_curl_callbacks(
        context: this,
        header: { bytes, count, transfer in CurlTransfer.at(transfer)?.receiveHeader(bytes, count) ?? 0 },
        body: { bytes, count, transfer in CurlTransfer.at(transfer)?.receiveBody(bytes, count) ?? 0 },
        read: nil, rewind: nil, progress: nil))
    pk_curl_set_callbacks(handle, callbacks)
  }

  deinit {
    pk_curl_easy_cleanup(handle)
    pk_curl_list_free(list)
    callbacks.deallocate()
  }

  func ends(_ end: End) {
    self.end = end
    continuation.take()?.resume()
  }

  /// Stores bytes of the response's body. If the response is too large, returns 0, which ends the transfer.
  private func receiveBody(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> Int {
    guard body.count + count <= Self.largestBody else { return 0 }
    body += UnsafeRawBufferPointer(start: bytes, count: count)
    return count
  }

  private func receiveHeader(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> Int {
    headSize += count
    guard headSize <= Self.largestHead else { return 0 }
    let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    guard let colon = line.firstIndex(of: ":") else { return count }
    let value = line[line.index(after: colon)...].drop { $0 == " " }
    headers[line[..<colon].lowercased()] = String(value.prefix { !$0.isNewline })
    return count
  }

  private static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer? {
    pointer.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }
}
