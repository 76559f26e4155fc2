import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A single request in a ``Transfer``, and its response.
final class Hop: Sendable {
  enum End {
    case response(ReceivedResponse)
    case redirect(URLRequest, keepsBody: Bool)
  }

  private enum Reception {
    case none
    case redirect(URLRequest, keepsBody: Bool)
    case accepted(ReceivedResponse, length: Int64?)
    case refused(ReceivedResponse, body: Data)
  }

  private struct State {
    var reception = Reception.none
    var receivedCount: Int64 = 0
    /// Whether the request has a body, which may have to be sent again after a redirect.
    var hasBody = false
    var progress = NetworkProgress()
  }

  private let transfer: Transfer
  private let request: URLRequest
  private let redirectCount: Int
  private let sink: any BodySink
  private let state = Mutex(State())

  init(transfer: Transfer, request: URLRequest, redirectCount: Int, sink: any BodySink) {
    self.transfer = transfer
    self.request = request
    self.redirectCount = redirectCount
    self.sink = sink
  }

  /// An error that ends an exchange as soon as a redirect is received, because the body of a redirect is not needed.
  private struct RedirectSeen: Error {}

  func perform(_ body: HTTPBody?) async throws {
    state.withLock { $0.hasBody = body?.isEmpty == false || request.httpBody?.isEmpty == false }
    if let body { report { $0.bytesToSend = body.byteCount } }
    let exchange = HTTPExchange(
      request, body: body, onSent: { self.sent($0) }, onReceived: { try self.receive($0) },
      onData: { try self.receive($0) })
    do {
      try await transfer.settings.transport.perform(exchange)
    } catch is RedirectSeen {
      return
    } catch {
      throw named(error)
    }
  }

  /// Returns the result of the exchange. This function must be called only after the transport has returned.
  ///
  /// - Throws: ``NetworkError`` if no response was received, if the status is not accepted, or if the body does not have the announced
  ///   length.
  func end() throws(NetworkError) -> End {
    let (reception, count) = state.withLock { ($0.reception, $0.receivedCount) }
    switch reception {
    case .none: throw NetworkError(.transferFailed, request)
    case .redirect(let next, let keepsBody): return .redirect(next, keepsBody: keepsBody)
    case .refused(let response, let body): throw refusal(response, body)
    case .accepted(let response, let length):
      if let length, length != count {
        let detail = "the response body is incomplete: received \(count) of \(length.counting("byte"))"
        throw NetworkError(.incomplete, request, detail, response: response.object)
      }
      return .response(response)
    }
  }

  private func named(_ error: any Error) -> any Error {
    if error is CancellationError || error is NetworkError || error is ProcedureError { return error }
    // The procedure was cancelled, so the transport's error contains no further information.
    if ProcedureContext.isCurrentCancelled { return CancellationError() }
    let response: ReceivedResponse? =
      switch state.withLock({ $0.reception }) {
      case .accepted(let response, _), .refused(let response, _): response
      default: nil
      }
    // URLSession on Linux has no specific error code for a connection that is closed in the middle of a body.
    let isCut = response != nil && [.unknown, .networkConnectionLost].contains((error as? URLError)?.code)
    let detail = isCut ? "the response body is incomplete: \(error.localizedDescription)" : ""
    return NetworkError(
      isCut ? .incomplete : .transferFailed, request, detail, response: response?.object, underlying: error)
  }

  private func refusal(_ response: ReceivedResponse, _ body: Data) -> NetworkError {
    NetworkError(.unacceptableStatus, request, response: response.object, body: body)
  }

  // MARK: From the transport

  private func sent(_ count: Int64) {
    report { $0.bytesSent = count }
  }

  private func receive(_ response: ReceivedResponse) throws {
    let hasBody = state.withLock { $0.hasBody }
    let policy = transfer.settings.redirects
    if let next = try policy.next(after: response, to: request, count: redirectCount, hasBody: hasBody) {
      state.withLock { $0.reception = .redirect(next.request, keepsBody: next.keepsBody) }
      // A response without a body is already complete, so its connection can be reused.
      if request.httpMethod == "HEAD" || response.bodyLength(to: request) == 0 { return }
      throw RedirectSeen()
    }
    guard transfer.settings.acceptsStatus(HTTPStatusCode(rawValue: response.status)) else {
      return state.withLock { $0.reception = .refused(response, body: Data()) }
    }
    let length = response.bodyLength(to: request)
    state.withLock { $0.reception = .accepted(response, length: length) }
    let start = try sink.begin(response, to: request, length: length)
    report { progress in
      progress.bytesReceived = start.receivedCount
      progress.bytesToReceive = start.total
    }
  }

  private func receive(_ data: Data) throws {
    let reception = state.withLock { state in
      state.receivedCount += Int64(data.count)
      return state.reception
    }
    switch reception {
    case .none, .redirect: break
    case .accepted:
      try sink.receive(data)
      report { $0.bytesReceived += Int64(data.count) }
    case .refused(let response, let body):
      let body = body + data.prefix(NetworkError.bodyLimit - body.count)
      state.withLock { $0.reception = .refused(response, body: body) }
      // The rest of a long error page is not read.
      if body.count == NetworkError.bodyLimit { throw refusal(response, body) }
    }
  }

  private func report(_ change: (inout NetworkProgress) -> Void) {
    let progress = state.withLock { state in
      change(&state.progress)
      return state.progress
    }
    transfer.settings.onProgress?(progress)
    guard let reporter = transfer.reporter else { return }
    if let total = progress.bytesToSend {
      reporter.report(Int(clamping: progress.bytesSent), of: Int(clamping: total))
    } else if let total = progress.bytesToReceive {
      reporter.report(Int(clamping: progress.bytesReceived), of: Int(clamping: total))
    }
  }
}
