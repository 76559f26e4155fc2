import Foundation
import LoopbackServer
import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// Creates a request with a method, header fields and a body, and with a timeout that is long enough for a busy machine.
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

/// Returns the error that an operation throws if it is a network error.
func networkError(_ operation: () async throws -> some Any) async -> NetworkError? {
  do {
    _ = try await operation()
    return nil
  } catch {
    return error as? NetworkError
  }
}
