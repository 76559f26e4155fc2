import Foundation
import LoadedLibraries
import Synchronization

/// A libcurl transfer: its handle, the data that the reader of the response has not taken yet, and the data that is waiting to be sent.
///
/// All pointers are confined to this file. The invariant that justifies `@unchecked Sendable`: until the transfer is added to a
/// ``CurlLoop``, the handle, the callbacks, the list of header fields and the sockets belong to the task that creates the transfer.
/// Afterwards, they belong to the loop's thread, which also calls the callbacks and releases all four. `sentCount` and `hasNews` belong to
/// that thread, too. Everything else is guarded by the lock. libcurl's pointer to the transfer is valid because the loop retains the
/// transfer for as long as libcurl has the handle.
final class CurlTransfer: @unchecked Sendable {
  /// The data and events that have arrived since the reader last took them.
  struct News {
    /// The number of bytes of the request body that libcurl has taken so far.
    var sentCount: Int64?
    /// The complete head of the final response.
    var head: [UInt8]?
    var body = Data()
    var end: End?

    fileprivate var isEmpty: Bool { sentCount == nil && head == nil && body.isEmpty && end == nil }

    enum End {
      case success
      case failed(CurlTransferMachine.Failure)
    }
  }

  private struct State {
    var machine: CurlTransferMachine
    var news = News()
    /// The lines of the head that have been received so far.
    var head: [UInt8] = []
    var reader: CheckedContinuation<Void, Never>?
    /// The bytes to send next.
    var supply = Data()[...]
    var isSupplyComplete = false
    var supplier: CheckedContinuation<Void, Never>?
    /// The error that was thrown while the request body was being produced.
    var sourceError: (any Error)?

    /// Whether the supplier should produce more data.
    var isSupplyWanted: Bool { supply.isEmpty && !machine.isBodyRefused }
  }

  /// The maximum number of bytes that libcurl passes in one call (`CURL_MAX_WRITE_SIZE`).
  private static let maxWriteSize = 16 << 10
  private static let usualHeadSize = 512

  let request: CurlRequest
  let handle: OpaquePointer
  private let handles: CurlHandles
  private let callbacks: UnsafeMutablePointer<pk_curl_callbacks>
  private var list: OpaquePointer?
  /// The sockets of the transfer; `nil` if the whole body is available from the start. In that case, sending is never paused, so the
  /// sockets are not needed.
  private let sockets: UnsafeMutablePointer<pk_curl_sockets>?
  private var sentCount: Int64 = 0
  private var hasNews = false
  private let state: Mutex<State>

  /// Creates a transfer.
  ///
  /// - Throws: `URLError` if libcurl does not have enough memory, or does not accept the URL.
  init(_ request: CurlRequest, _ configuration: CurlTransport.Configuration, _ handles: CurlHandles) throws {
    // libcurl would truncate the path at the NUL character, and trust a different file.
    if configuration.trustedCertificates?.containsNUL == true {
      throw URLError(.cannotOpenFile, explanation: "the path of the trusted certificates contains a NUL character")
    }
    guard let handle = handles.take() else { throw URLError(.unknown, explanation: "libcurl is out of memory") }
    self.request = request
    self.handle = handle
    self.handles = handles
    callbacks = .allocate(capacity: 1)
    sockets = request.body.isWhole ? nil : .allocate(capacity: 1)
    let limits = CurlTransferMachine.Limits(
      head: configuration.maxHeadSize, idle: request.idleLimit,
      // A longer limit makes no difference, and could overflow.
      total: configuration.totalTimeout.map { min($0, .seconds(1_000_000_000)) })
    state = Mutex(State(machine: CurlTransferMachine(limits), isSupplyComplete: request.body.isWhole))
    callbacks.initialize(to: Self.callbacks(Unmanaged.passUnretained(self).toOpaque()))
    sockets?.initialize(to: pk_curl_sockets())
    if case .data(let data) = request.body { state.withLock { $0.supply = data[...] } }
    guard configure(configuration) else {
      release()
      throw URLError(.badURL, explanation: "libcurl does not accept the URL, which may be too long")
    }
  }

  private func configure(_ configuration: CurlTransport.Configuration) -> Bool {
    // Passing the string directly would first copy it into an array, whereas `withCString` passes the string's own bytes.
    for line in request.lines { list = line.withCString { pk_curl_list_append(list, $0) } ?? list }
    pk_curl_set_callbacks(handle, callbacks)
    if let sockets { pk_curl_watch_sockets(handle, sockets) }
    pk_curl_set_list(handle, CURLOPT_HTTPHEADER, list)
    pk_curl_set_long(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTP_AND_HTTPS)
    let version = configuration.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
    pk_curl_set_long(handle, CURLOPT_HTTP_VERSION, version)
    pk_curl_set_long(handle, CURLOPT_HTTP09_ALLOWED, 0)
    pk_curl_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // With this option (since libcurl 7.87), a transfer can end while a name is being resolved.
    pk_curl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
    pk_curl_set_long(handle, CURLOPT_BUFFERSIZE, 64 << 10)
    pk_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
    if let file = configuration.trustedCertificates {
      pk_curl_set_text(handle, CURLOPT_CAINFO, file.path)
      // Without this line, the certificates in the system's folder would also be trusted.
      pk_curl_set_text(handle, CURLOPT_CAPATH, nil)
    }
    if request.needsNewConnection { pk_curl_set_long(handle, CURLOPT_FRESH_CONNECT, 1) }
    setMethod()
    return request.url.withCString { pk_curl_set_text(handle, CURLOPT_URL, $0) } == CURLE_OK
  }

  private func setMethod() {
    let hasBody = if case .none = request.body { false } else { true }
    if request.method == "HEAD", !hasBody {
      pk_curl_set_long(handle, CURLOPT_NOBODY, 1)
    } else if hasBody || ["POST", "PUT", "PATCH"].contains(request.method) {
      // With these methods, even an empty body is announced, with "Content-Length: 0".
      pk_curl_set_long(handle, CURLOPT_UPLOAD, 1)
      pk_curl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, request.body.byteCount ?? -1)
      pk_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
    } else if request.method != "GET" {
      pk_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }
  }

  // MARK: The callbacks, on the loop's thread

  private static func callbacks(_ transfer: UnsafeMutableRawPointer) -> pk_curl_callbacks {
    pk_curl_callbacks(
      context: transfer,
      header: { bytes, count, context in
        CurlTransfer.at(context).headArrived(UnsafeRawBufferPointer(start: bytes, count: count)) ? count : 0
      },
      body: { bytes, count, context in
        let isKept = CurlTransfer.at(context).bodyArrived(UnsafeRawBufferPointer(start: bytes, count: count))
        return isKept ? count : PK_CURL_WRITE_PAUSE
      },
      read: { bytes, capacity, context in
        CurlTransfer.at(context).supplyWanted(UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
      },
      rewind: { CurlTransfer.at($0).rewind() },
      progress: { CurlTransfer.at($0).progressed() })
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    guard let context else { preconditionFailure("libcurl called a callback without the context of a transfer") }
    return Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// Handles a line of a head or of the trailers. Returns whether the transfer continues.
  private func headArrived(_ line: UnsafeRawBufferPointer) -> Bool {
    hasNews = true
    return state.withLock { state in
      guard state.machine.headArrived(line.count) else { return false }
      if let isChunked = line.isChunkedCoding, !state.machine.transferCodingArrived(isChunked: isChunked) {
        return false
      }
      // Trailers are counted and discarded.
      guard case .head = state.machine.phase else { return true }
      if state.head.isEmpty || line.starts(with: "HTTP/".utf8) {
        guard state.machine.statusLineArrived(ResponseHead.status(of: line)) else { return false }
        state.head.reserveCapacity(Self.usualHeadSize)
      }
      state.head += line
      guard line.isEmptyLine else { return true }
      switch state.machine.headEnded(announcedLength: announcedLength(state.head)) {
      case .interim: break
      case .final: state.news.head = state.head
      case .refused: return false
      }
      state.head = []
      return true
    }
  }

  /// Returns the announced length of the response body, if any. The result is `nil` if the request has no body, because the length matters
  /// only if the server can refuse the request body.
  private func announcedLength(_ head: [UInt8]) -> Int64? {
    if case .none = request.body { return nil }
    return ResponseHead(head)?.announcedLength(to: request.method)
  }

  private func bodyArrived(_ bytes: UnsafeRawBufferPointer) -> Bool {
    hasNews = true
    return state.withLock { state in
      guard state.machine.bodyArrived(bytes.count) else { return false }
      bytes.withMemoryRebound(to: UInt8.self) { state.news.body.append($0) }
      return true
    }
  }

  /// Counts a step in which libcurl used the connection. Returns whether the transfer continues.
  private func progressed() -> Bool { state.withLock { $0.machine.progressed() } }

  private func supplyWanted(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    hasNews = true
    return state.withLock { state in
      switch state.machine.supplyWanted(hasBytes: !state.supply.isEmpty, isComplete: state.isSupplyComplete) {
      case .bytes:
        let piece = state.supply.prefix(buffer.count)
        piece.copyBytes(to: buffer)
        state.supply = state.supply.dropFirst(piece.count)
        sentCount += Int64(piece.count)
        state.news.sentCount = sentCount
        return piece.count
      case .pause: return PK_CURL_READ_PAUSE
      case .end: return 0
      }
    }
  }

  /// Rewinds the body so that libcurl can send it again if a pooled connection turns out to be closed.
  ///
  /// Returns `false` if the body cannot be sent again. This is the case if the body is a stream, or if the request must not be repeated
  /// and part of the body has already been sent.
  private func rewind() -> Bool {
    guard case .data(let data) = request.body, request.isRepeatable || sentCount == 0 else { return false }
    sentCount = 0
    state.withLock { $0.supply = data[...] }
    return true
  }

  // MARK: The loop's thread

  /// Starts the transfer. Returns whether it should be handed to libcurl.
  func start(at now: ContinuousClock.Instant) -> Bool {
    state.withLock { $0.machine.started(at: now) }
  }

  /// Resumes receiving and sending, unless they have to remain paused. Returns libcurl's result code. If the code is not `CURLE_OK`, the
  /// transfer has to end.
  func resume(at now: ContinuousClock.Instant) -> Int32 {
    let pauses = state.withLock { state in
      let machine = state.machine
      state.machine.resumed(
        canReceive: state.news.body.isEmpty, canSend: !state.supply.isEmpty || state.isSupplyComplete, at: now)
      return (machine, state.machine)
    }
    guard
      pauses.0.isReceivingPaused != pauses.1.isReceivingPaused || pauses.0.isSendingPaused != pauses.1.isSendingPaused
    else { return CURLE_OK }
    // libcurl may call the callbacks during this call, so the lock must not be held here.
    return pk_curl_pause(
      handle,
      (pauses.1.isReceivingPaused ? PK_CURL_PAUSE_RECEIVE : 0) | (pauses.1.isSendingPaused ? PK_CURL_PAUSE_SEND : 0))
  }

  /// Wakes the reader and the supplier if there is news for them. Returns the action that ``CurlLoop`` must take next for the transfer.
  func publish(at now: ContinuousClock.Instant) -> CurlTransferMachine.Turn {
    let isActive = hasNews
    hasNews = false
    let (reader, supplier, turn) = state.withLock { state in
      if isActive { state.machine.wasActive(at: now) }
      let reader = state.news.isEmpty ? nil : state.reader.take()
      let supplier = state.isSupplyWanted ? state.supplier.take() : nil
      return (reader, supplier, state.machine.turn(at: now))
    }
    reader?.resume()
    supplier?.resume()
    guard turn == .look else { return turn }
    let isClosed = sockets.map { pk_curl_is_closed(handle, $0) } ?? false
    return state.withLock { state in
      if isClosed { state.machine.peerClosed() }
      return state.machine.turn(at: now)
    }
  }

  /// Releases the handle and notifies the reader and the supplier that the transfer has ended.
  func end(code: Int32) {
    var proxyStatus = 0
    if code != CURLE_OK { _ = pk_curl_get_long(handle, CURLINFO_HTTP_CONNECTCODE, &proxyStatus) }
    release()
    let (reader, supplier) = state.withLock { state in
      state.machine.ended(code: code, proxyStatus: proxyStatus)
      state.news.end = state.machine.failure.map { .failed($0) } ?? .success
      return (state.reader.take(), state.supplier.take())
    }
    reader?.resume()
    supplier?.resume()
  }

  private func release() {
    handles.put(handle)
    pk_curl_list_free(list)
    callbacks.deallocate()
    sockets?.deallocate()
  }

  // MARK: Any thread

  /// Records the reason the transfer has to end. ``CurlLoop`` then ends the transfer.
  func fail(_ failure: CurlTransferMachine.Failure) {
    state.withLock { $0.machine.fail(failure) }
  }

  // MARK: The reader's task

  /// Waits for data or events that the reader has not seen yet. The wait also ends when the transfer ends, for example because it was
  /// cancelled.
  ///
  /// - Returns: The news, and whether receiving is paused. If it is, the caller has to resume the transfer.
  func next() async -> (news: News, isPaused: Bool) {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.news.isEmpty { state.reader = continuation }
        return !state.news.isEmpty
      }
      if isReady { continuation.resume() }
    }
    return state.withLock { state in
      let news = state.news
      state.news = News()
      // A long body arrives in batches of the maximum size. If the buffer had to grow from nothing for each batch, every byte would be
      // copied twice.
      if news.body.count >= CurlTransferMachine.Limits.unreadBytes / 2 {
        state.news.body.reserveCapacity(CurlTransferMachine.Limits.unreadBytes + Self.maxWriteSize)
      }
      return (news, state.machine.bodyTaken())
    }
  }

  var hasFailed: Bool { state.withLock { $0.machine.failure != nil } }

  var sourceError: (any Error)? { state.withLock { $0.sourceError } }

  // MARK: The supplier's task

  /// Waits until the previous piece has been sent, and then provides the next one. The wait also ends when the transfer ends, for example
  /// because it was cancelled.
  ///
  /// - Returns: Whether the transfer still needs data, and whether sending is paused. If it is, the caller has to resume the transfer. A
  ///   transfer that has ended needs no data.
  func supply(_ piece: Data) async -> (isWanted: Bool, isPaused: Bool) {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        let isReady = state.isSupplyWanted || state.machine.phase == .ended
        if !isReady { state.supplier = continuation }
        return isReady
      }
      if isReady { continuation.resume() }
    }
    return state.withLock { state in
      guard state.machine.phase != .ended else { return (false, false) }
      state.supply = piece[...]
      return (true, state.machine.isSendingPaused)
    }
  }

  /// Records that no more data follows. Returns whether sending is paused. If it is, the caller has to resume the transfer.
  func completeSupply() -> Bool {
    state.withLock { state in
      state.isSupplyComplete = true
      return state.machine.isSendingPaused
    }
  }

  /// Records that the body could not be produced. Returns whether ``CurlLoop`` has to end the transfer.
  func failSupply(_ error: any Error) -> Bool {
    state.withLock { state in
      if state.sourceError == nil { state.sourceError = error }
      return state.machine.sourceFailed()
    }
  }
}

extension CurlRequest.Body {
  /// Whether the whole body is available when the transfer starts.
  fileprivate var isWhole: Bool { if case .stream = self { false } else { true } }
}

extension UnsafeRawBufferPointer {
  fileprivate var isEmptyLine: Bool { count <= 2 && (elementsEqual("\r\n".utf8) || elementsEqual("\n".utf8)) }

  /// Whether the value of a `Transfer-Encoding` line is empty, `chunked` or `identity`; `nil` for any other line.
  fileprivate var isChunkedCoding: Bool? {
    let name = "transfer-encoding:".utf8
    guard count >= name.count, zip(self, name).allSatisfy({ $0 | 0x20 == $1 || $0 == $1 }) else { return nil }
    let value = String(decoding: dropFirst(name.count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return ["", "chunked", "identity"].contains(value.lowercased())
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(clamping: Int64(min(max(self / .milliseconds(1), 1), 1e12))) }
}
