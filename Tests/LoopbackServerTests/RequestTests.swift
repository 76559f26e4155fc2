import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct RequestTests {
  @Test("A request is recorded with method, path, query, headers and body")
  func records() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let head = "POST /a%20b?c=d&e HTTP/1.1\r\nHOST: a\r\nX-One: 1\r\nContent-Length: 5\r\n\r\n"
    _ = await RawClient.exchange(server, head + "01234")
    let request = try #require(server.requests.first)
    #expect(request.method == "POST")
    #expect(request.path == "/a%20b")
    #expect(request.query == "c=d&e")
    #expect(request.headers["host"] == "a")
    #expect(request.headers["x-one"] == "1")
    #expect(request.headers["X-Two"] == nil)
    #expect(request.body == Data("01234".utf8))
  }

  @Test("A chunked body is reassembled, and trailers are dropped")
  func chunks() async throws {
    let server = try LoopbackServer { request in .ok(request.body) }
    defer { server.stop() }
    let body = "3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n"
    let reply = await RawClient.exchange(server, "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    #expect(reply.body == "abc0123456789")
  }

  @Test("A client that expects 100 is told to continue")
  func continues() async throws {
    let server = try LoopbackServer { request in .ok(request.body) }
    defer { server.stop() }
    let head = "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    let reply = await RawClient.exchange(server, head, then: "abc")
    #expect(reply.head == "HTTP/1.1 100 Continue")
    #expect(reply.body.hasSuffix("\r\n\r\nabc"))
  }

  @Test(
    "Bytes that are not a request get a 400",
    arguments: [
      "miaow\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET nowhere HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
      "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "GET /\(String(repeating: "a", count: 70_000))",
    ])
  func bad(_ text: String) async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let reply = await RawClient.exchange(server, text)
    #expect(reply.head.hasPrefix("HTTP/1.1 400 "))
    #expect(server.requests.isEmpty)
  }

  @Test("Attempts are counted for each path")
  func attempts() async throws {
    let server = try LoopbackServer { request in request.attempt < 3 ? .status(503) : .ok("\(request.attempt)") }
    defer { server.stop() }
    var heads: [String] = []
    for path in ["/a", "/a", "/b", "/a"] { heads.append(String(await RawClient.get(server, path).head.prefix(12))) }
    #expect(heads == ["HTTP/1.1 503", "HTTP/1.1 503", "HTTP/1.1 503", "HTTP/1.1 200"])
    #expect(server.requests(to: "/a").map(\.attempt) == [1, 2, 3])
  }

  @Test("A response that precedes the request's body does not wait for the body")
  func early() async throws {
    let server = try LoopbackServer { request in
      request.path == "/full" ? .status(413) : nil
    } handler: { _ in
      .ok("")
    }
    defer { server.stop() }
    let reply = await RawClient.exchange(server, "PUT /full HTTP/1.1\r\nContent-Length: 1000000\r\n\r\nabc")
    #expect(reply.head.hasPrefix("HTTP/1.1 413 "))
    #expect(reply.code == 0)
    #expect(server.requests.map(\.body) == [Data()])
  }
}
