import Dispatch
import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests the libcurl transport with widely used servers: nginx, with TLS and HTTP/2, and Python's. These deep tests need `apt-get install
/// nginx python3 openssl`.
@Suite(
  .serialized, .timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil, "libcurl is missing"),
  .enabled(if: TestDepth.current == .deep, "real servers are for the deep tests")
) struct RealServerTests {
  static func path(of program: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (folders + ["/usr/sbin", "/usr/bin"]).map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static let text = String(repeating: "kitten ", count: 100_000)
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(at: folder.file("site"), withIntermediateDirectories: true)
    try Data(Self.text.utf8).write(to: folder.file("site/kitten.txt"))
    try Data(count: 50_000_000).write(to: folder.file("site/large"))
  }

  /// Runs a program. A server is stopped after `body`. Any other program ends on its own.
  private func withProgram(
    _ path: String, _ arguments: [String], isServer: Bool = true, _ body: () async throws -> Void
  ) async throws {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in end.finish() }
    try process.run()
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    // The threads of Swift's concurrency block most signals, and a program that is started on such a thread inherits this, so SIGTERM would
    // not arrive.
    if isServer { kill(process.processIdentifier, SIGKILL) }
    for await _ in ends {}
    try result.get()
  }

  private func openssl(_ arguments: String...) async throws {
    try await withProgram(try #require(Self.path(of: "openssl")), arguments, isServer: false) {}
  }

  /// Creates a self-signed certificate.
  private func makeAuthority(_ name: String) async throws -> (certificate: URL, key: URL) {
    let (certificate, key) = (folder.file("\(name).pem"), folder.file("\(name).key"))
    try await openssl(
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
      "subjectAltName=DNS:\(name)", "-keyout", key.path, "-out", certificate.path)
    return (certificate, key)
  }

  /// Creates a certificate for `localhost` that is signed by an authority.
  private func makeCertificate(by authority: (certificate: URL, key: URL)) async throws -> (certificate: URL, key: URL)
  {
    let (certificate, key) = (folder.file("server.pem"), folder.file("server.key"))
    try Data("subjectAltName=DNS:localhost\n".utf8).write(to: folder.file("extensions"))
    try await openssl(
      "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key.path, "-out",
      folder.file("request").path)
    try await openssl(
      "x509", "-req", "-in", folder.file("request").path, "-CA", authority.certificate.path, "-CAkey",
      authority.key.path, "-CAcreateserial", "-days", "2", "-extfile", folder.file("extensions").path, "-out",
      certificate.path)
    return (certificate, key)
  }

  /// Runs nginx with the folder `site`, at one port without TLS, and at one with TLS and HTTP/2.
  private func withNginx(
    _ identity: (certificate: URL, key: URL), log: URL, _ body: (_ plain: Int, _ secure: Int) async throws -> Void
  ) async throws {
    let (plain, secure) = (try freePort(), try freePort())
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder.url.path)/\($0);"
    }
    let settings = """
      daemon off; master_process off; pid \(folder.url.path)/pid; error_log stderr;
      events { worker_connections 4096; }
      http {
        \(temporary.joined(separator: " "))
        types { text/plain txt; } default_type application/octet-stream;
        gzip on; gzip_types text/plain; gzip_min_length 10;
        log_format short '$server_protocol $connection $status'; access_log \(log.path) short;
        server {
          listen 127.0.0.1:\(plain); listen 127.0.0.1:\(secure) ssl http2;
          ssl_certificate \(identity.certificate.path); ssl_certificate_key \(identity.key.path);
          root \(folder.file("site").path);
        }
      }
      """
    try Data(settings.utf8).write(to: folder.file("nginx.conf"))
    try await withProgram(try #require(Self.path(of: "nginx")), ["-c", folder.file("nginx.conf").path]) {
      try await waitUntilReady(url("http", plain, "/kitten.txt"), try #require(CurlTransport()))
      try await body(plain, secure)
    }
  }

  private func transport(trusting certificates: URL, offersHTTP2: Bool = true) throws -> CurlTransport {
    var configuration = CurlTransport.Configuration()
    configuration.offersHTTP2 = offersHTTP2
    configuration.trustedCertificates = certificates
    return try #require(CurlTransport(configuration))
  }

  private func freePort() throws -> Int { try RefusingPort().port }

  private func load(_ url: URL, _ transport: CurlTransport) async throws -> HTTPPayloadResponse<Data> {
    var load = NetworkDataProcedure()
    load.settings.transport = transport
    load.settings.sizeLimit = 1 << 30
    return try await load(URLRequest(url))
  }

  /// Waits until a server accepts connections.
  private func waitUntilReady(_ url: URL, _ transport: CurlTransport) async throws {
    for _ in 1...200 {
      if (try? await load(url, transport)) != nil { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("the server does not start")
  }

  private func url(_ scheme: String, _ port: Int, _ path: String) -> URL {
    URL(string: "\(scheme)://localhost:\(port)\(path)")!
  }

  @Test(
    "nginx: compression, TLS, HTTP/2 and kept connections are supported",
    .enabled(if: path(of: "nginx") != nil, "nginx is missing"))
  func nginx() async throws {
    let (identity, log) = (try await makeAuthority("localhost"), folder.file("access"))
    let transport = try transport(trusting: identity.certificate)
    try await withNginx(identity, log: log) { plain, secure in
      for (scheme, port) in [("http", plain), ("https", secure)] {
        try await exchange(scheme, port, transport)
      }
      // The certificate is private.
      let stranger = try #require(CurlTransport())
      let error = await networkError { try await load(url("https", secure, "/kitten.txt"), stranger) }
      #expect(error?.code == .serverCertificateUntrusted)
      #expect(error?.description.contains("not trusted") == true)
    }
    let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map { $0.split(separator: " ") }
    for version in ["HTTP/1.1", "HTTP/2.0"] {
      let connections = lines.filter { $0[0] == version }.map { $0[1] }
      #expect(connections.count >= 200, "\(version)")
      // The requests are sent 16 at a time, over connections that are kept.
      #expect(Set(connections).count < 60, "\(version): \(Set(connections).count) connections")
    }
  }

  @Test(
    "nginx: only the authorities that a transport trusts are accepted, not the system's and no others",
    .enabled(if: path(of: "nginx") != nil, "nginx is missing"))
  func trust() async throws {
    let (mine, other) = (try await makeAuthority("mine"), try await makeAuthority("other"))
    let identity = try await makeCertificate(by: mine)
    try await withNginx(identity, log: folder.file("access")) { _, secure in
      let address = url("https", secure, "/kitten.txt")
      for offersHTTP2 in [true, false] {
        let transport = try transport(trusting: mine.certificate, offersHTTP2: offersHTTP2)
        #expect(try await load(address, transport).text == Self.text)
      }
      for stranger in [try transport(trusting: other.certificate), try #require(CurlTransport())] {
        let error = await networkError { try await load(address, stranger) }
        #expect(error?.code == .serverCertificateUntrusted)
      }
      // A file without certificates trusts no one.
      let none = try transport(trusting: folder.file("site/kitten.txt"))
      #expect(await networkError { try await load(address, none) }?.kind == .transferFailed)
    }
  }

  #if os(Linux)
    @Test(
      "nginx: a reader that does not read pauses its transfer over HTTP/2, too, so memory is bounded, and others continue",
      .enabled(if: path(of: "nginx") != nil, "nginx is missing"))
    func pausedReaders() async {
      // The test runs in a separate process, whose memory no other test uses.
      await #expect(processExitsWith: .success) { try await RealServerTests().holdReaders() }
    }

    private func holdReaders() async throws {
      let (identity, count) = (try await makeAuthority("localhost"), 40)
      try await withNginx(identity, log: folder.file("access")) { _, secure in
        let (transport, executor) = (try transport(trusting: identity.certificate), HeldExecutor())
        let (address, first) = (url("https", secure, "/large"), DispatchSemaphore(value: 0))
        let before = try memory("VmRSS")
        first.signal()
        executor.hold()
        let readers = (0..<count).map { _ in
          Task(executorPreference: executor) {
            let received = Mutex(0)
            let exchange = HTTPExchange(
              URLRequest(address),
              // The first head holds all readers, whose transfers have begun by then.
              onResponse: { _ in if first.wait(timeout: .now()) == .success { executor.hold() } },
              onData: { data in received.withLock { $0 += data.count } })
            try await transport.perform(exchange)
            return received.withLock { $0 }
          }
        }
        executor.letGo()
        // All buffers fill, with about 128 KB each, since nginx compresses texts only. Each transfer could receive 50 MB.
        try await eventually { try memory("VmRSS") - before > (count * 128) << 10 }
        for _ in 1...50 {
          #expect(try await load(url("https", secure, "/kitten.txt"), transport).text == Self.text)
        }
        let used = try memory("VmRSS") - before
        #expect(used < (count * 512) << 10, "\(used >> 10) KB for \(count) transfers")
        for reader in readers.prefix(count / 2) { reader.cancel() }
        executor.letGo()
        for (index, reader) in readers.enumerated() {
          if index < count / 2 {
            await #expect(throws: CancellationError.self) { try await reader.value }
          } else {
            #expect(try await reader.value == 50_000_000)
          }
        }
      }
      let lines = try String(contentsOf: folder.file("access"), encoding: .utf8).split(separator: "\n")
      #expect(lines.count { $0.hasPrefix("HTTP/2.0") } >= count)
    }
  #endif

  private func exchange(_ scheme: String, _ port: Int, _ transport: CurlTransport) async throws {
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 16)
    let texts = try await queue.map(
      Array(0..<200),
      with: ProcedureTask { _ in try await load(url(scheme, port, "/kitten.txt"), transport) })
    #expect(texts.allSatisfy { $0.text == Self.text && $0.header("content-encoding") == "gzip" })
    #expect(try await load(url(scheme, port, "/missing"), transport).status == 404)

    var download = NetworkDownloadProcedure(to: folder.file("large"))
    download.settings.transport = transport
    _ = try await download(URLRequest(url(scheme, port, "/large")))
    #expect(try Data(contentsOf: folder.file("large")).count == 50_000_000)

    // A body of which only a little is read does not affect the others.
    var short = NetworkDataProcedure()
    short.settings.transport = transport
    short.settings.sizeLimit = 1_000
    let kinds = try await queue.map(
      Array(0..<40),
      with: ProcedureTask { [short] index in
        await networkError { try await short(URLRequest(url(scheme, port, index % 2 == 0 ? "/large" : "/missing"))) }?
          .kind
      })
    #expect(kinds.enumerated().allSatisfy { $0.element == ($0.offset % 2 == 0 ? .tooLarge : nil) })
  }

  @Test(
    "Python's server: HTTP/1.0, which closes its connections, is supported",
    .enabled(if: path(of: "python3") != nil, "python3 is missing")
  )
  func python() async throws {
    let (port, transport) = (try freePort(), try #require(CurlTransport()))
    let arguments = ["-m", "http.server", "--bind", "127.0.0.1", "--directory", folder.file("site").path, "\(port)"]
    try await withProgram(try #require(Self.path(of: "python3")), arguments) {
      try await waitUntilReady(url("http", port, "/kitten.txt"), transport)
      let queue = ProcedureQueue("network", maxConcurrentProcedures: 8)
      let texts = try await queue.map(
        Array(0..<50), with: ProcedureTask { _ in try await load(url("http", port, "/kitten.txt"), transport).text })
      #expect(texts.allSatisfy { $0 == Self.text })
      #expect(try await load(url("http", port, "/missing"), transport).status == 404)
      #expect(try await load(url("http", port, "/"), transport).text.contains("kitten.txt"))
    }
  }
}
