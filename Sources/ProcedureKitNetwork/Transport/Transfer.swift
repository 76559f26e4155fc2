import Foundation
import ProcedureKit
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request with its redirects, up to the end of the last response's body.
struct Transfer: Sendable {
  let settings: TransferSettings
  /// The progress of the procedure, if the transfer reports it.
  let reporter: ProgressReporter?

  init(_ settings: TransferSettings) {
    self.settings = settings
    // The transport calls from its own threads, which have no context.
    reporter = settings.reportsProgress ? ProcedureContext.current?.progress : nil
  }

  /// Sends a request, and passes the body of an accepted response to `sink`.
  ///
  /// - Throws: ``NetworkError``; `CancellationError`.
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

/// The receiver of a body. A transport calls the functions one after the other.
protocol BodySink: Sendable {
  /// Reports that the response is accepted and its body follows. The length is passed if it was announced. Returns what has already been
  /// received, and what is still to come.
  func begin(_ response: ReceivedResponse, to request: URLRequest, length: Int64?) throws -> BodyStart
  func receive(_ data: Data) throws
}

/// The state of a body when a response begins.
struct BodyStart {
  /// How many bytes of the complete body have already been received.
  var receivedCount: Int64 = 0
  /// How many bytes the complete body has, if known.
  var total: Int64?
}
