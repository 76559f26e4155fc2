import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct RedirectTests {
  private let load = NetworkDataProcedure("load")

  @Test(
    "A redirect to a path, a relative path or an address is followed",
    arguments: [
      "/new/kitten", "kitten", "../new/kitten", "//localhost:PORT/new/kitten", "http://127.0.0.1:PORT/new/kitten",
    ])
  func targets(_ location: String) async throws {
    let server = try LoopbackServer { request in
      if request.path == "/new/kitten" { return .ok("a kitten") }
      let port = request.headers["Host"]?.split(separator: ":").last ?? ""
      return .redirect(to: location.replacing("PORT", with: port))
    }
    defer { server.stop() }
    let response = try await load(URLRequest(server.url("/new/old")))
    #expect(response.text == "a kitten")
    #expect(response.response.url?.path == "/new/kitten")
    #expect(server.requests.count == 2)
  }

  @Test("A loop of redirects ends at the limit, and if redirects are not followed, the redirect is the response")
  func loop() async throws {
    let server = try LoopbackServer { _ in
      var response = ServerResponse.redirect(to: "/loop", status: 301)
      response.body = Data("elsewhere".utf8)
      return response
    }
    defer { server.stop() }
    var load = load
    load.settings.redirects.limit = 5
    let error = await networkError { [load] in try await load(URLRequest(server.url("/loop"))) }
    #expect(error?.kind == .tooManyRedirects)
    #expect(server.requests.count == 6)
    load.settings.redirects = .never
    let response = try await load(URLRequest(server.url("/loop")))
    #expect(response.status == 301)
    #expect(response.text == "elsewhere")
  }

  @Test(
    "A redirect to a URL that is not an HTTP address is an error",
    arguments: ["ftp://127.0.0.1/", "mailto:kitten@example.com", "file:///etc"])
  func invalid(_ location: String) async throws {
    let server = try LoopbackServer { _ in .redirect(to: location) }
    defer { server.stop() }
    let error = await networkError { try await load(URLRequest(server.url("/"))) }
    #expect(error?.kind == .invalidRedirect)
    #expect(error?.description.contains("\"\(location)\"") == true)
  }

  @Test(
    "A redirect without a target, and another status with a target, are responses", arguments: [300, 302, 304, 201])
  func noRedirects(_ status: Int) async throws {
    let server = try LoopbackServer { _ in .status(status, headers: status == 302 ? [:] : ["Location": "/new"]) }
    defer { server.stop() }
    #expect(try await load(URLRequest(server.url("/"))).status.rawValue == status)
    #expect(server.requests.count == 1)
  }

  @Test(
    "The method and the body are kept, or the request becomes a GET without a body",
    arguments: [
      (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"),
      (308, "PUT", "PUT"), (302, "PUT", "PUT"), (303, "HEAD", "HEAD"), (302, "HEAD", "HEAD"),
    ])
  func methods(_ status: Int, _ method: String, _ next: String) async throws {
    let server = try LoopbackServer { request in
      request.path == "/old" ? .redirect(to: "/new", status: status) : .ok("")
    }
    defer { server.stop() }
    let body = method == "HEAD" ? nil : "meow"
    _ = try await load(URLRequest(server.url("/old"), method, headers: ["Content-Type": "text/cat"], body: body))
    let last = try #require(server.requests.last)
    #expect(last.method == next)
    #expect(String(decoding: last.body, as: UTF8.self) == (next == method ? body ?? "" : ""))
    if next == "GET" { #expect(last.headers["Content-Type"] == nil) }
  }

  @Test("Credentials are not passed to another host or port, and are not restored on the way back")
  func credentials() async throws {
    let other = try LoopbackServer { request in
      .redirect(to: "http://127.0.0.1:\(request.query ?? "")/end")
    }
    let server = try LoopbackServer { request in
      let port = request.headers["Host"]?.split(separator: ":").last ?? ""
      switch request.path {
      case "/start": return .redirect(to: "/same")
      case "/same": return .redirect(to: "http://localhost:\(port)/host")
      case "/port": return .redirect(to: "http://127.0.0.1:\(other.port)/?\(port)")
      default: return .ok("")
      }
    }
    defer { for server in [server, other] { server.stop() } }
    let headers = ["authorization": "Bearer secret", "Cookie": "secret", "X-Key": "secret", "Accept": "text/cat"]
    var load = load
    load.settings.redirects.credentialHeaders.insert("x-key")
    for path in ["/start", "/port"] { _ = try await load(URLRequest(server.url(path), headers: headers)) }
    for path in ["/start", "/same", "/port"] {
      #expect(server.requests(to: path).first?.headers["Authorization"] == "Bearer secret")
    }
    for request in server.requests(to: "/host") + other.requests + server.requests(to: "/end") {
      #expect(request.headers["Authorization"] == nil)
      #expect(request.headers["Cookie"] == nil)
      #expect(request.headers["X-Key"] == nil)
      #expect(request.headers["Accept"] == "text/cat")
    }
    #expect(server.requests(to: "/end").count == 1)
    #expect(server.requests(to: "/host").count == 1)
  }

  @Test("The body of a redirect counts neither towards the limit nor towards the length")
  func bodies() async throws {
    let server = try LoopbackServer { request in
      if request.path == "/new" { return .ok("a kitten") }
      return .status(302, headers: ["Location": "/new"], body: Data(count: 100_000))
    }
    defer { server.stop() }
    var load = load
    load.settings.sizeLimit = 8
    #expect(try await load(URLRequest(server.url("/old"))).text == "a kitten")
  }
}
