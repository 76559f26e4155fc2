import Foundation
import ProcedureKitNetwork
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport without a network. A function responds to each exchange, whose number counts from 1.
final class ScriptedTransport: HTTPTransport {
  private let seen = Mutex<[HTTPExchange]>([])
  private let script: @Sendable (HTTPExchange, Int) async throws -> Void

  init(_ script: @escaping @Sendable (HTTPExchange, Int) async throws -> Void) {
    self.script = script
  }

  /// The exchanges so far.
  var exchanges: [HTTPExchange] { seen.withLock { $0 } }

  /// Returns the values of a header field in the requests so far.
  func values(of name: String) -> [String?] { exchanges.map { $0.request.value(forHTTPHeaderField: name) } }

  @concurrent func perform(_ exchange: HTTPExchange) async throws {
    let number = seen.withLock { exchanges in
      exchanges.append(exchange)
      return exchanges.count
    }
    try await script(exchange, number)
  }
}

extension HTTPExchange {
  /// Reports a response with its whole body.
  func answer(_ status: Int, _ headers: [String: String] = [:], _ body: Data = Data()) throws {
    try didReceive(HTTPURLResponse(url: request.url!, statusCode: status, httpVersion: nil, headerFields: headers)!)
    if !body.isEmpty { try didReceive(body) }
  }

  /// Reports a response with its whole body.
  func answer(_ status: Int, _ headers: [String: String] = [:], _ body: String) throws {
    try answer(status, headers, Data(body.utf8))
  }
}
