import Foundation
import LoopbackServer
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// A request with a method, header fields and a body, and with a patience that a busy machine does not use up.
  init(_ url: URL, _ method: String = "GET", headers: [String: String] = [:], body: String? = nil) {
    self.init(url: url, timeoutInterval: 600)
    httpMethod = method
    for (name, value) in headers { setValue(value, forHTTPHeaderField: name) }
    httpBody = body.map { Data($0.utf8) }
  }
}

extension HTTPPayloadResponse<Data> {
  var text: String { String(decoding: payload, as: UTF8.self) }
}

/// The error that an operation throws, if the error is one of the network.
func networkError(_ operation: () async throws -> some Any) async -> NetworkError? {
  do {
    _ = try await operation()
    return nil
  } catch {
    return error as? NetworkError
  }
}
