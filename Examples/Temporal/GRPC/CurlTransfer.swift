import CCurl

/// One request and its answer.
///
/// Invariant of `@unchecked Sendable`: the caller makes the transfer and reads the answer after the end; between the two the loop's thread alone uses
/// the transfer.
final class CurlTransfer: @unchecked Sendable {
  enum End {
    case done(CURLcode)
    case cancelled
  }

  let handle: OpaquePointer
  var continuation: CheckedContinuation<Void, Never>?
  var isCancelled = false
  private(set) var end = End.cancelled
  private(set) var body: [UInt8] = []
  /// The last value of each header and trailer, by its name in small letters.
  private(set) var headers: [String: String] = [:]
  private var list: UnsafeMutablePointer<curl_slist>?

  init(_ url: String, _ body: [UInt8], headers: [String], timeout: Duration) {
    guard let handle = curl_easy_init() else { fatalError("libcurl has no memory") }
    self.handle = OpaquePointer(handle)
    for header in headers { list = curl_slist_append(list, header) }
    url.withCString { _ = ccurl_set_pointer(handle, CURLOPT_URL, $0) }
    "".withCString { _ = ccurl_set_pointer(handle, CURLOPT_PROXY, $0) }
    ccurl_set_long(handle, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
    ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    // Before version 8, libcurl cannot use a connection with prior knowledge again: one for each request.
    ccurl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
    ccurl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
    ccurl_set_long(handle, CURLOPT_POST, 1)
    ccurl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    body.withUnsafeBytes { _ = ccurl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
    ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
    ccurl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, 2_000)
    ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, Int(timeout / .milliseconds(1)) + 2_000)
    let this = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_pointer(handle, CURLOPT_WRITEDATA, this)
    ccurl_set_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, transfer in
      CurlTransfer.at(transfer)?.body += CurlTransfer.bytes(bytes, size * count)
      return size * count
    }
    ccurl_set_pointer(handle, CURLOPT_HEADERDATA, this)
    ccurl_set_callback(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, transfer in
      CurlTransfer.at(transfer)?.gotHeader(String(decoding: CurlTransfer.bytes(bytes, size * count), as: UTF8.self))
      return size * count
    }
  }

  deinit {
    curl_easy_cleanup(UnsafeMutableRawPointer(handle))
    curl_slist_free_all(list)
  }

  func ends(_ end: End) {
    self.end = end
    continuation.take()?.resume()
  }

  private func gotHeader(_ line: String) {
    guard let colon = line.firstIndex(of: ":") else { return }
    let value = line[line.index(after: colon)...].drop { $0 == " " }
    headers[line[..<colon].lowercased()] = String(value.prefix { !$0.isNewline })
  }

  private static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer? {
    pointer.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func bytes(_ pointer: UnsafeMutablePointer<CChar>?, _ count: Int) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: pointer, count: count))
  }
}
