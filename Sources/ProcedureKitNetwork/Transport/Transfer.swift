import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request and any redirects that follow it, up to the end of the last response body.
struct Transfer: Sendable {
  let settings: TransferSettings
  /// The progress of the procedure; `nil` if the transfer does not report it.
  let reporter: ProgressReporter?

  init(_ settings: TransferSettings) {
    self.settings = settings
    // The reporter is stored because the transport's threads have no context.
    reporter = settings.reportsProgress ? ProcedureContext.current?.progress : nil
  }

  /// Sends a request and passes the body of an accepted response to `sink`.
  ///
  /// - Throws: ``NetworkError`` if the request is invalid or the transfer fails; any error that ``TransferSettings/onRedirect`` throws;
  ///   `CancellationError` if the procedure is cancelled.
  func perform(_ request: URLRequest, body: HTTPBody? = nil, into sink: any BodySink) async throws -> ReceivedResponse {
    try request.check(hasBody: body != nil)
    let first = request
    var (request, body, count) = (request, body, 0)
    while true {
      let hop = Hop(transfer: self, request: request, redirectCount: count, sink: sink)
      try await hop.perform(body)
      switch try hop.end() {
      case .response(let response): return response.redirected(from: first, to: request)
      case .redirect(let next, let keepsBody):
        try await settings.onRedirect?(next)
        request = next
        if !keepsBody { body = nil }
        count += 1
      }
    }
  }
}

/// The receiver of a response body. A transport calls the functions one at a time.
protocol BodySink: Sendable {
  /// Records that the response was accepted and that its body follows. `length` is the length of the body, if the head specified it.
  ///
  /// Returns how much of the complete body has already been received, and the length of the complete body.
  func begin(_ response: ReceivedResponse, to request: URLRequest, length: Int64?) throws -> BodyStart
  func receive(_ data: Data) throws
}

/// The progress of a body at the start of a response.
struct BodyStart {
  /// The number of bytes of the complete body that have already been received.
  var receivedCount: Int64 = 0
  /// The number of bytes in the complete body, if it is known.
  var total: Int64?
}
