import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct InvalidRequestTests {
  static let requests: [(URLRequest, String)] = {
    let url = URL(string: "http://127.0.0.1:1/")!
    var nowhere = URLRequest(url: url)
    nowhere.url = nil
    var stream = URLRequest(url, "POST")
    stream.httpBodyStream = InputStream(data: Data([1]))
    return [
      (nowhere, "has no URL"), (URLRequest(URL(string: "ftp://127.0.0.1/")!), "only http"),
      (URLRequest(URL(filePath: "/etc/hosts")), "only http"), (URLRequest(URL(string: "kitten")!), "only http"),
      (URLRequest(url, "GET", body: "a"), "set httpMethod"), (URLRequest(url, "G T"), "its method"),
      (URLRequest(url, headers: ["X A": "1"]), "a name of"),
      (stream, "a stream"),
    ]
  }()

  @Test("A request that cannot be sent is refused, and the error says why", arguments: requests)
  func refused(_ request: URLRequest, _ reason: String) async throws {
    let error = await networkError { try await NetworkDataProcedure()(request) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.description.contains("was not sent, since") == true)
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }
}
