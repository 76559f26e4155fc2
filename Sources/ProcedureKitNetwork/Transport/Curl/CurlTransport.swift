public import Foundation
import LoadedLibraries
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport that uses libcurl, which is loaded at run time (Linux, `libcurl.so.4` from version 7.68).
///
/// One thread performs all transfers of a transport. The thread starts with the first transfer. It ends, and closes the connections kept
/// for reuse, when there has been no transfer for 30 seconds or when the transport is deallocated. The system's host name lookup blocks, so
/// libcurl starts a thread for each name that is being looked up; a cancelled transfer does not wait for that thread.
///
/// - *Protocols:* HTTP/1.1, and HTTP/2 over TLS if ``Configuration/offersHTTP2`` is set. TLS certificates are verified. IPv6 is supported.
///   Proxies are taken from the environment, as with curl (`https_proxy`, `no_proxy`, …). Each transfer has its own connection while it is
///   running, and connections are reused.
/// - *Limits:* A head and its trailers have at most ``Configuration/maxHeadSize`` bytes in total. The `timeoutInterval` of a request limits
///   how long nothing may be sent or received, including the wait for a connection; see also ``Configuration/connectTimeout``.
/// - *Back pressure:* A transfer is paused when 128 KB have not been read yet. A transfer holds at most 512 KB, in addition to what your
///   code keeps.
/// - *Uploads:* If a server answers with a status of 300 or more before it has received the whole body, no more of the body is sent, and
///   the answer is the response. If the body is still being produced, the transfer stays open until the peer closes the connection, which
///   is noticed within a second. `Expect`, `Content-Length` and `Transfer-Encoding` are not taken from a request, because libcurl frames
///   bodies itself.
/// - *Content codings:* A request that has no `Accept-Encoding` field and does not ask for a range offers gzip, and the response is
///   decompressed. If the request has an `Accept-Encoding` field, a body in one of its codings is passed on without decoding. A coding that
///   was not offered, more than one coding, a compressed body that is cut off, one with an implausible amount of compressed data for its
///   decompressed size, and a transfer coding other than `chunked` end the transfer with an error.
/// - *Ends:* A head or a body that is cut off is an error. The exception is a body that has neither a length nor chunks: it ends when the
///   connection ends, and libcurl does not report whether the server closed a TLS connection properly. Only connections are kept between
///   requests, but no cookies or credentials. On a kept connection, a server can send the response to the next request before that request
///   arrives, but only to requests for its own host and port.
///
/// Before version 7.87, ending a transfer waits for a name that is being resolved, and so do other transfers.
public final class CurlTransport: HTTPTransport {
  /// The settings of a ``CurlTransport``.
  public struct Configuration: Sendable {
    /// How long it may take to establish a connection, including the name lookup and the TLS handshake.
    public var connectTimeout: Duration = .seconds(30)
    /// How long a transfer may take; if `nil`, only the limit of the procedure applies.
    public var totalTimeout: Duration?
    /// The largest number of bytes in the head of a response and its trailers.
    public var maxHeadSize = 128 << 10
    /// How many connections to one host may be open at a time. Further transfers wait.
    public var maxConnectionsPerHost = 256
    /// How many connections are kept for reuse.
    public var maxIdleConnections = 128
    /// Whether HTTP/2 is offered to servers over TLS. Otherwise, HTTP/1.1 is used.
    ///
    /// Each transfer has its own connection, so HTTP/2 is not faster. A hostile server can send small HTTP/2 frames so quickly that libcurl
    /// processes nothing else: all transfers of the transport stall, and their time limits and cancellations take effect late. Set the
    /// property only for servers that you trust and that require HTTP/2, and use a separate transport for such requests.
    public var offersHTTP2 = false
    /// A PEM file with the certificates of the authorities to trust instead of the system's.
    public var trustedCertificates: URL?

    /// Creates the settings.
    public init() {}
  }

  /// The transport that procedures share; `nil` if libcurl is missing.
  public static let shared = CurlTransport()

  private let configuration: Configuration
  private let loop: CurlLoop

  /// Creates a transport with its own connections. Returns `nil` if libcurl is missing, or older than 7.68.
  ///
  /// - Parameter configuration: The settings.
  public init?(_ configuration: Configuration = Configuration()) {
    guard pk_curl_load() else { return nil }
    self.configuration = configuration
    loop = CurlLoop(configuration)
  }

  deinit {
    // Each exchange retains its transport, so no transfer is left.
    loop.stop()
  }

  /// Sends the request of an exchange; see ``HTTPTransport/perform(_:)``. The functions of the exchange are called on the caller's task.
  ///
  /// - Throws: `URLError`; ``NetworkError`` if the request cannot be sent; any error thrown by a function of the exchange, or by the
  ///   sequence that produces the request's body; `CancellationError`.
  @concurrent public func perform(_ exchange: HTTPExchange) async throws {
    let request = try CurlRequest(exchange.request, exchange.body)
    let transfer = try CurlTransfer(request, configuration, loop.handles)
    try await ProcedureContext.withCancellationHandler {
      loop.add(transfer)
      guard case .stream(let body, let byteCount) = request.body else { return try await receive(exchange, transfer) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await self.supply(body, byteCount, exchange.request, transfer) }
        // A server may answer before it has received the whole body. In that case, the rest of the body is not produced.
        defer { group.cancelAll() }
        try await receive(exchange, transfer)
      }
    } onCancel: { [loop] in
      transfer.fail(.cancelled)
      loop.end(transfer)
    }
    withExtendedLifetime(self) {}
  }

  // MARK: The response

  private func receive(_ exchange: HTTPExchange, _ transfer: CurlTransfer) async throws {
    var reception = CurlReception(exchange, transfer.request)
    while true {
      let (news, isPaused) = await transfer.next()
      // The next bytes arrive while the exchange is handling these.
      if isPaused { loop.resume(transfer) }
      switch Result(catching: { try reception.receive(news, of: transfer) }) {
      case .success(true): return
      case .success(false): break
      case .failure(let error):
        if news.end == nil { await end(transfer) }
        throw error
      }
    }
  }

  /// Removes a transfer whose response is no longer wanted, and waits until its connection is closed.
  private func end(_ transfer: CurlTransfer) async {
    transfer.fail(.cancelled)
    loop.end(transfer)
    while await transfer.next().news.end == nil { continue }
  }

  // MARK: The request's body

  private func supply(_ body: HTTPBody, _ byteCount: Int64?, _ request: URLRequest, _ transfer: CurlTransfer) async {
    var rest = byteCount
    do {
      try await body.forEachPiece(request) { piece in
        if let count = rest {
          guard count >= piece.count else { throw body.lengthError(request) }
          rest = count - Int64(piece.count)
        }
        let (isWanted, isPaused) = await transfer.supply(piece)
        guard isWanted else { throw CancellationError() }
        if isPaused { loop.resume(transfer) }
      }
      if let rest, rest > 0 { throw body.lengthError(request) }
      if transfer.completeSupply() { loop.resume(transfer) }
    } catch {
      if transfer.failSupply(error) { loop.end(transfer) }
    }
  }
}

/// Passes the data that a transfer has received to the exchange.
private struct CurlReception {
  private let exchange: HTTPExchange
  private let request: CurlRequest
  private var decoder: GzipDecoder?

  init(_ exchange: HTTPExchange, _ request: CurlRequest) {
    self.exchange = exchange
    self.request = request
  }

  /// Returns whether the transfer has succeeded.
  mutating func receive(_ news: CurlTransfer.News, of transfer: CurlTransfer) throws -> Bool {
    try pass(news)
    switch news.end {
    case .success:
      try decoder?.finish()
      return true
    case .failed(.sourceFailed): throw transfer.sourceError ?? CancellationError()
    case .failed(let failure): throw failure.error
    case nil: return false
    }
  }

  private mutating func pass(_ news: CurlTransfer.News) throws {
    if let count = news.sentCount { exchange.didSend(totalBytes: count) }
    if let head = news.head { try receive(head) }
    guard !news.body.isEmpty else { return }
    if let decoder {
      try decoder.decode(news.body) { try exchange.didReceive($0) }
    } else {
      try exchange.didReceive(news.body)
    }
  }

  private mutating func receive(_ bytes: [UInt8]) throws {
    guard let head = ResponseHead(bytes), head.hasValidLength, let url = exchange.request.url else {
      throw URLError(.badServerResponse)
    }
    let codings = head.codings
    if let coding = codings.first {
      guard codings.count == 1, request.offeredCodings.contains(coding) else {
        throw URLError(
          .cannotDecodeContentData,
          userInfo: [NSLocalizedDescriptionKey: "the server has sent a content coding that was not asked for"])
      }
      if coding == "gzip", GzipDecoder.isAvailable { decoder = try GzipDecoder() }
    }
    try exchange.didReceive(ReceivedResponse(head, from: url))
  }
}

extension CurlTransferMachine.Failure {
  /// The error for the caller.
  fileprivate var error: any Error {
    switch self {
    case .cancelled, .sourceFailed: CancellationError()
    case .headTooLong: Self.error(.dataLengthExceedsMaximum, "the head of the response is too long")
    case .badStatusLine: Self.error(.badServerResponse, "the head of the response is no head of HTTP")
    case .headCut: Self.error(.networkConnectionLost, "the connection was closed within the head of the response")
    case .unexpectedCoding:
      Self.error(.cannotDecodeContentData, "the server has sent a transfer coding that was not asked for")
    case .unexpectedUpgrade: Self.error(.badServerResponse, "the server has switched to another protocol")
    case .idle: Self.error(.timedOut, "nothing came for as long as the request allows")
    case .curl(let code): Self.error(Self.codes[code] ?? .unknown, String(cString: pk_curl_error_text(code)))
    }
  }

  private static func error(_ code: URLError.Code, _ text: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  private static let codes: [Int32: URLError.Code] = [
    // A response that is not HTTP. URLs with other schemes are refused earlier.
    CURLE_UNSUPPORTED_PROTOCOL: .badServerResponse, CURLE_WEIRD_SERVER_REPLY: .badServerResponse,
    CURLE_HTTP2: .badServerResponse, CURLE_URL_MALFORMAT: .badURL, CURLE_COULDNT_RESOLVE_PROXY: .cannotFindHost,
    CURLE_COULDNT_RESOLVE_HOST: .cannotFindHost, CURLE_COULDNT_CONNECT: .cannotConnectToHost,
    CURLE_PROXY: .cannotConnectToHost, CURLE_PARTIAL_FILE: .networkConnectionLost,
    CURLE_OPERATION_TIMEDOUT: .timedOut, CURLE_SSL_CONNECT_ERROR: .secureConnectionFailed,
    CURLE_SSL_CIPHER: .secureConnectionFailed, CURLE_SSL_CACERT_BADFILE: .secureConnectionFailed,
    CURLE_SSL_CERTPROBLEM: .clientCertificateRejected, CURLE_PEER_FAILED_VERIFICATION: .serverCertificateUntrusted,
    CURLE_SSL_ISSUER_ERROR: .serverCertificateUntrusted, CURLE_SSL_INVALIDCERTSTATUS: .serverCertificateUntrusted,
    CURLE_GOT_NOTHING: .networkConnectionLost, CURLE_SEND_ERROR: .networkConnectionLost,
    CURLE_RECV_ERROR: .networkConnectionLost, CURLE_SEND_FAIL_REWIND: .networkConnectionLost,
    CURLE_HTTP2_STREAM: .networkConnectionLost,
  ]
}
