import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct CannedKitten: HTTPTransport {
  func perform(_ exchange: HTTPExchange) async throws {
    let url = exchange.request.url!
    try exchange.didReceive(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [:])!)
    try exchange.didReceive(Data("a kitten".utf8))
  }
}

/// The code of the guide *Network procedures*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct NetworkGuide {
  private struct Kitten: Decodable {
    var name: String
  }

  private struct Service {
    func synchronize() async throws -> Int { 7 }
  }

  private let queue = ProcedureQueue("network", maxConcurrentProcedures: 4)

  private func withServer(_ body: (LoopbackServer, URL) async throws -> Void) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/token": .ok(#"{"access_token": "secret", "token_type": "Bearer"}"#)
      default: request.method == "PUT" ? .ok("\(request.body.count)") : .ok(#"{"name": "Mia"}"#)
      }
    }
    defer { server.stop() }
    try await body(server, server.url("/kitten"))
    try await server.waitUntilUnconnected()
  }

  @Test("A procedure loads a value from a server")
  func loading() async throws {
    try await withServer { _, url in
      let load = NetworkDataProcedure("load").resilient()
      let response = try await queue.run(load, input: URLRequest(url: url))
      print(response.status, response.payload.count)
      let loadKitten = NetworkDataProcedure("load").resilient().json(Kitten.self)
      let kitten = try await queue.run(loadKitten, input: URLRequest(url: url))
      #expect(kitten.name == "Mia")
    }
  }

  @Test("Procedures download and upload a file")
  func files() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.url
    try await withServer { _, url in
      let download = NetworkDownloadProcedure("photograph") { request in
        // A URL can contain encoded slashes.
        let name = request.url?.lastPathComponent.replacing("/", with: "-") ?? "page"
        return folder.appending(path: name)
      }
      let photograph = try await queue.run(download.resilient(), input: URLRequest(url: url)).payload
      #expect(photograph == temporary.file("kitten"))

      let upload = NetworkUploadProcedure("upload").resilient()
      let request = HTTPPayloadRequest(.file(photograph), to: url, method: "PUT", contentType: "image/png")
      let answer = try await queue.run(upload, input: request)
      #expect(answer.text == "15")
    }
  }

  @Test("A handle reports the progress of a transfer")
  func progress() async throws {
    let folder = try TemporaryFolder()
    try await withServer { _, url in
      let download = NetworkDownloadProcedure("photograph", to: folder.file("kitten"))
      let handle = queue.add(download.resilient(), input: URLRequest(url: url))
      for await progress in handle.progress {
        print(progress)  // 512 of 1024 (50%)
      }
      #expect(await handle.progress.first { _ in true }?.totalUnits == 15)
    }
  }

  @Test("A request with a transient failure is retried")
  func resilience() async throws {
    let (breaker, limiter) = (CircuitBreaker("kittens"), RateLimiter(100, per: .seconds(1)))
    try await withServer { _, url in
      var patient = NetworkResilience()
      patient.attemptTimeout = .seconds(60)
      patient.maxAttempts = 5
      let careful = NetworkDataProcedure("load").resilient(patient) { attempt in
        attempt.rateLimited(limiter).circuitBreaker(breaker)
      }
      let response = try await queue.run(careful, input: URLRequest(url: url))
      #expect(response.status == 200)
    }
  }

  @Test("A request is sent with a token")
  func authorization() async throws {
    let secret = "secret"
    try await withServer { server, url in
      let tokenURL = server.url("/token")
      let service = WebServiceCapability(
        "kittens", OAuthConfiguration(tokenURL: tokenURL, clientID: "me", clientSecret: secret))
      let authorized = NetworkDataProcedure("load").authorized(by: service).resilient()
      let secured = try await queue.run(authorized, input: URLRequest(url: url))
      #expect(secured.status == 200)
      #expect(server.requests(to: "/kitten").first?.headers["Authorization"] == "Bearer secret")
    }
  }

  @Test("A request can wait until its host is reachable")
  func reachability() async throws {
    let service = Service()
    try await withServer { _, url in
      let synchronize = ProcedureTask("synchronize") { try await service.synchronize() }
        .condition(.reachable(url, within: .seconds(2)))
      let count = try await queue.run(synchronize)
      #expect(count == 7)
    }
  }

  @Test("A procedure can use a transport with its own configuration", .enabled(if: CurlTransport.shared != nil))
  func transport() async throws {
    let certificates = URL(filePath: "/etc/ssl/certs/ca-certificates.crt")
    var load = NetworkDataProcedure("load")
    var configuration = CurlTransport.Configuration()
    configuration.trustedCertificates = certificates
    configuration.connectTimeout = .seconds(10)
    if let transport = CurlTransport(configuration) { load.settings.transport = transport }
    try await withServer { [load] _, url in
      let response = try await load(URLRequest(url: url))
      #expect(response.status == 200)
    }
  }

  private actor Log {
    private var lines = ["one", "two", "three"]

    func next() -> Data? { lines.isEmpty ? nil : Data(lines.removeFirst().utf8) }
  }

  @Test("A body can be produced while it is being sent")
  func stream() async throws {
    let (log, upload) = (Log(), NetworkUploadProcedure("upload"))
    try await withServer { server, url in
      let lines = HTTPBodyStream { AsyncStream(unfolding: { await log.next() }) }
      let answer = try await queue.run(upload, input: HTTPPayloadRequest(.stream(lines), to: url))
      #expect(answer.status == 200)
      #expect(server.requests.first?.body == Data("onetwothree".utf8))
    }
  }

  @Test("A test can replace the network")
  func substitute() async throws {
    var load = NetworkDataProcedure("load")
    load.settings.transport = CannedKitten()
    let response = try await load(URLRequest(url: URL(string: "https://kitten.example/")!))
    #expect(response.text == "a kitten")
  }
}
