public import Foundation
import LoadedLibraries
import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport for Linux that uses libcurl, which is loaded at run time (`libcurl.so.4`, version 7.68 or later).
///
/// A single thread performs all transfers of a transport. The thread starts with the first transfer. When there has been no transfer for 30
/// seconds, or when the transport is deallocated, the thread closes the connections that were kept for reuse, and ends. Because the
/// system's host name lookup blocks, libcurl starts a thread for each name that it looks up. Since libcurl 7.87, a cancelled transfer does
/// not wait for that thread.
///
/// - *Protocols:* HTTP/1.1, and HTTP/2 over TLS if ``Configuration/offersHTTP2`` is set. TLS certificates are verified. IPv6 is supported.
///   Proxies are configured through the environment, as with curl (`https_proxy`, `no_proxy`, …). A connection is used by only one transfer
///   at a time, and is reused afterwards.
/// - *Limits:* The head and the trailers of a response can have at most ``Configuration/maxHeadSize`` bytes in total. The `timeoutInterval`
///   of a request limits how long a transfer can be idle, including the time that it takes to connect; see also
///   ``Configuration/connectTimeout``.
/// - *Fairness:* If a server sends TLS messages or HTTP/2 frames as fast as they can be processed, other transfers, time limits and
///   cancellations are delayed by a fraction of a second. The delay is this short only if libcurl uses OpenSSL 1.1.1 or later, as it does
///   on common distributions. With any other TLS library, such a server can stall all transfers of the transport. Like browsers, the
///   transport does not offer TLS 1.2's slow `DHE` key exchange, which could cause similar delays. A transfer fails if a proxy sends more
///   than 64 KB in one burst in response to `CONNECT`. The task that reads or produces a body lets other tasks run after each piece,
///   however fast the server is.
/// - *Back pressure:* A transfer is paused while 128 KB are waiting to be read. A transfer uses at most 512 KB of memory, in addition to
///   the data that your code keeps.
/// - *Uploads:* If a server responds with a status of 300 or more before it has received the whole body, no more of the body is sent, and
///   the response is returned as usual. If the body is still being produced, the transfer remains open until the peer closes the
///   connection. A closed connection is detected within a second. If the peer has sent a complete response by then, the response is
///   returned, whatever its status. With HTTP/2, a response that refuses the body can be lost if it has no `Content-Length`, or if the
///   server resets the stream. The transfer then fails, as if the connection had been lost or idle. The fields `Expect`, `Content-Length`
///   and `Transfer-Encoding` of a request are ignored, because libcurl frames bodies itself.
/// - *Content codings:* A request offers gzip if it has no `Accept-Encoding` field and does not request a range. A gzip body is
///   decompressed. A body with any other coding that `Accept-Encoding` offers is passed on unchanged. A transfer fails if the response
///   has more than one coding, or a coding that was not offered. It also fails if the transfer coding is not `chunked`, or if the
///   compressed body is truncated or implausibly large for its decompressed size.
/// - *Truncated responses:* A truncated head or body is an error. However, truncation may not be detected if a body has neither a length
///   nor chunks. Such a body ends when the connection ends, and libcurl does not report whether the server closed a TLS connection
///   properly.
///
/// Between requests, the transport keeps connections, but no cookies or credentials. On a reused connection, a malicious server could
/// send a response before it receives the next request. Such a response can only reach a request to the same host and port.
///
/// Before version 7.87, libcurl cannot end a transfer while the transfer's name lookup is in progress. Waiting for the lookup to end also
/// delays other transfers.
public final class CurlTransport: HTTPTransport {
  /// The settings of a ``CurlTransport``.
  public struct Configuration: Sendable {
    /// The time limit for establishing a connection, including the name lookup and the TLS handshake.
    public var connectTimeout: Duration = .seconds(30)
    /// The time limit for a transfer. If it is `nil`, only the limits of the procedure apply.
    public var totalTimeout: Duration?
    /// The maximum number of bytes in the head of a response and its trailers.
    public var maxHeadSize = 128 << 10
    /// The maximum number of connections to a host that can be open at a time. Additional transfers have to wait.
    ///
    /// The wait counts towards `timeoutInterval` and ``totalTimeout``, but the time that a procedure waits in a queue does not. If you
    /// have many transfers, limit the number of procedures that their queue executes concurrently instead.
    ///
    /// For `http` URLs that are requested through a proxy, the limit applies to the proxy, so the hosts behind it share the connections.
    public var maxConnectionsPerHost = 256
    /// The maximum number of connections that are kept for reuse.
    public var maxIdleConnections = 128
    /// Whether the transport offers HTTP/2 to servers over TLS. If it does not, HTTP/1.1 is used.
    ///
    /// Transfers do not share connections, so HTTP/2 is not faster. Set this property only for servers that require HTTP/2.
    public var offersHTTP2 = false
    /// A PEM file of certificate authorities. If it is set, these authorities are trusted instead of those of the system.
    public var trustedCertificates: URL?

    /// Creates the default settings.
    public init() {}
  }

  /// The transport that procedures share; `nil` if libcurl is missing or older than 7.68.
  public static let shared = CurlTransport()

  private let configuration: Configuration
  private let loop: CurlLoop

  /// Creates a transport with its own connections. Returns `nil` if libcurl is missing or older than 7.68.
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

  /// Sends the request of an exchange; see ``HTTPTransport/perform(_:)``. The functions of the exchange are called in the caller's task.
  ///
  /// - Throws: `URLError` if the transfer fails; ``NetworkError`` if the request cannot be sent; any error thrown by a function of the
  ///   exchange, or by the sequence that produces the request body; `CancellationError` if the caller is cancelled.
  @concurrent public func perform(_ exchange: HTTPExchange) async throws {
    let request = try CurlRequest(exchange.request, exchange.body)
    let transfer = try CurlTransfer(request, configuration, loop.handles)
    try await ProcedureContext.withCancellationHandler {
      loop.add(transfer)
      guard case .stream(let body, let byteCount) = request.body else { return try await receive(exchange, transfer) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await self.supply(body, byteCount, exchange.request, transfer) }
        // If the server responds before it receives the whole body, the rest of the body is not produced.
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
      // The next bytes can arrive while the exchange is handling these.
      if isPaused { loop.resume(transfer) }
      do {
        if try await reception.receive(news, of: transfer) { return }
      } catch {
        if news.end == nil { await end(transfer) }
        throw error
      }
      // If the server is faster than the exchange, the next data has already arrived, and this task would never suspend. A few such tasks
      // would keep all other tasks of the process from running, including those that enforce time limits.
      await Task.yield()
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
        // If the server reads faster than the body is produced, this task would never suspend; see `receive`.
        await Task.yield()
      }
      if let rest, rest > 0 { throw body.lengthError(request) }
      if transfer.completeSupply() { loop.resume(transfer) }
    } catch {
      if transfer.failSupply(error) { loop.end(transfer) }
    }
  }
}

/// A receiver that passes the data of a transfer on to the exchange.
private struct CurlReception {
  private let exchange: HTTPExchange
  private let request: CurlRequest
  private var decoder: GzipDecoder?

  init(_ exchange: HTTPExchange, _ request: CurlRequest) {
    self.exchange = exchange
    self.request = request
  }

  /// Passes news on to the exchange. Returns whether the transfer has ended successfully, and throws an error if it has failed.
  mutating func receive(_ news: CurlTransfer.News, of transfer: CurlTransfer) async throws -> Bool {
    try await pass(news, of: transfer)
    switch news.end {
    case .success:
      try decoder?.finish()
      return true
    case .failed(.sourceFailed): throw transfer.sourceError ?? CancellationError()
    case .failed(let failure): throw failure.error
    case nil: return false
    }
  }

  private mutating func pass(_ news: CurlTransfer.News, of transfer: CurlTransfer) async throws {
    if let count = news.sentCount { exchange.didSend(totalBytes: count) }
    if let head = news.head { try receive(head) }
    guard !news.body.isEmpty else { return }
    guard let decoder else { return try exchange.didReceive(news.body) }
    var rest = news.body
    // A few bytes can decompress to many megabytes, so decompression stops if the transfer has failed, for example because it was
    // cancelled.
    while !transfer.hasFailed, let piece = try decoder.decode(&rest) {
      try exchange.didReceive(piece)
      await Task.yield()
    }
  }

  private mutating func receive(_ bytes: [UInt8]) throws {
    guard let head = ResponseHead(bytes), let url = exchange.request.url else { throw URLError(.badServerResponse) }
    guard head.hasValidLength else {
      throw URLError(.badServerResponse, explanation: "the length of the response is invalid")
    }
    let codings = head.codings
    if let coding = codings.first {
      guard codings.count == 1, request.offers(coding) else {
        throw URLError(
          .cannotDecodeContentData, explanation: "the server used a content coding that was not requested")
      }
      if coding == "gzip", GzipDecoder.isAvailable { decoder = try GzipDecoder() }
    }
    try exchange.didReceive(ReceivedResponse(head, from: url))
  }
}

extension CurlTransferMachine.Failure {
  /// The error that a transfer throws because of this failure.
  fileprivate var error: any Error {
    switch self {
    case .cancelled, .sourceFailed: CancellationError()
    case .headTooLong: URLError(.dataLengthExceedsMaximum, explanation: "the response headers are too large")
    case .badStatusLine: URLError(.badServerResponse, explanation: "the response headers are not valid HTTP")
    case .headCut:
      URLError(
        .networkConnectionLost, explanation: "the connection was closed before the end of the response headers")
    case .unexpectedCoding:
      URLError(.cannotDecodeContentData, explanation: "the server used a transfer coding that was not requested")
    case .proxyResponseTooLong: URLError(.dataLengthExceedsMaximum, explanation: "the proxy's response is too large")
    // Every later attempt would receive the same 4xx, so the error has a code that is not retried.
    case .refusedByProxy(let status):
      URLError(
        (400..<500).contains(status) ? .userAuthenticationRequired : .cannotConnectToHost,
        explanation: status == 407
          ? "the proxy requires a user name and password, which are missing from its address or were rejected (status 407)"
          : "the proxy refused to connect to the host (status \(status))")
    case .unexpectedUpgrade: URLError(.badServerResponse, explanation: "the server switched to another protocol")
    case .idle: URLError(.timedOut, explanation: "the connection was idle for longer than timeoutInterval")
    case .total: URLError(.timedOut, explanation: "the transfer took longer than totalTimeout")
    // This is the only time limit that libcurl itself enforces.
    case .curl(CURLE_OPERATION_TIMEDOUT):
      URLError(.timedOut, explanation: "no connection was established within connectTimeout")
    case .curl(CURLE_WEIRD_SERVER_REPLY):
      URLError(.badServerResponse, explanation: "the response headers are not valid HTTP")
    case .curl(CURLE_COULDNT_RESOLVE_PROXY): URLError(.cannotFindHost, explanation: "the proxy was not found")
    case .curl(CURLE_PROXY): URLError(.cannotConnectToHost, explanation: "the proxy did not connect to the host")
    case .curl(CURLE_SSL_CACERT_BADFILE):
      URLError(.secureConnectionFailed, explanation: "the file of trusted certificates is missing or invalid")
    case .curl(let code):
      URLError(
        Self.codes[code] ?? .unknown, userInfo: [NSLocalizedDescriptionKey: String(cString: pk_curl_error_text(code))])
    }
  }

  private static let codes: [Int32: URLError.Code] = [
    // The response is not HTTP. URLs whose scheme is not `http` or `https` have already been refused.
    CURLE_UNSUPPORTED_PROTOCOL: .badServerResponse, CURLE_HTTP2: .badServerResponse, CURLE_URL_MALFORMAT: .badURL,
    CURLE_COULDNT_RESOLVE_HOST: .cannotFindHost, CURLE_COULDNT_CONNECT: .cannotConnectToHost,
    CURLE_PARTIAL_FILE: .networkConnectionLost, CURLE_SSL_CONNECT_ERROR: .secureConnectionFailed,
    CURLE_SSL_CIPHER: .secureConnectionFailed,
    CURLE_SSL_CERTPROBLEM: .clientCertificateRejected, CURLE_PEER_FAILED_VERIFICATION: .serverCertificateUntrusted,
    CURLE_SSL_ISSUER_ERROR: .serverCertificateUntrusted, CURLE_SSL_INVALIDCERTSTATUS: .serverCertificateUntrusted,
    CURLE_GOT_NOTHING: .networkConnectionLost, CURLE_SEND_ERROR: .networkConnectionLost,
    CURLE_RECV_ERROR: .networkConnectionLost, CURLE_SEND_FAIL_REWIND: .networkConnectionLost,
    CURLE_HTTP2_STREAM: .networkConnectionLost,
  ]
}
