import Foundation
import LoopbackServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct ResponseTests {
  @Test("A response has a status line, its headers, its length and its body")
  func plain() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten", headers: ["X-Color": "grey"]) }
    defer { server.stop() }
    let reply = await RawClient.get(server, "/kitten")
    #expect(reply.head == "HTTP/1.1 200 OK\r\nX-Color: grey\r\nConnection: close\r\nContent-Length: 8")
    #expect(reply.body == "a kitten")
    #expect(reply.code == 0)
  }

  @Test("HEAD, 204 and 304 have no body")
  func bodiless() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/204": .status(204)
      case "/304": .file(Data("abc".utf8), tag: "\"1\"")
      default: .ok("abc")
      }
    }
    defer { server.stop() }
    let head = await RawClient.exchange(server, "HEAD / HTTP/1.1\r\n\r\n")
    #expect(head.head.hasSuffix("Content-Length: 3"))
    #expect(head.body == "")
    let none = await RawClient.get(server, "/204")
    #expect(none.text == "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    let same = await RawClient.get(server, "/304", headers: "If-None-Match: \"1\"\r\n")
    #expect(same.head.hasPrefix("HTTP/1.1 304 "))
    #expect(same.body == "")
  }

  @Test(
    "A file serves the part that the Range header requests",
    arguments: [
      ("Range: bytes=2-4\r\n", 206, "bytes 2-4/10", "234"), ("Range: bytes=7-\r\n", 206, "bytes 7-9/10", "789"),
      ("Range: bytes=-3\r\n", 206, "bytes 7-9/10", "789"), ("Range: bytes=8-99\r\n", 206, "bytes 8-9/10", "89"),
      ("Range: bytes=10-\r\n", 416, "bytes */10", ""), ("Range: bytes=1-2,4-5\r\n", 200, nil, "0123456789"),
      ("Range: bytes=5-\r\nIf-Range: \"1\"\r\n", 206, "bytes 5-9/10", "56789"),
      ("Range: bytes=5-\r\nIf-Range: yesterday\r\n", 206, "bytes 5-9/10", "56789"),
      ("Range: bytes=5-\r\nIf-Range: \"0\"\r\n", 200, nil, "0123456789"), ("", 200, nil, "0123456789"),
    ])
  func ranges(_ headers: String, status: Int, range: String?, body: String) async throws {
    let server = try LoopbackServer { _ in
      .file(Data("0123456789".utf8), tag: "\"1\"", headers: ["Last-Modified": "yesterday"])
    }
    defer { server.stop() }
    let reply = await RawClient.get(server, "/", headers: headers)
    #expect(reply.head.hasPrefix("HTTP/1.1 \(status) "))
    #expect(reply.head.contains("ETag: \"1\""))
    #expect(reply.head.contains("Content-Range: ") == (range != nil))
    if let range { #expect(reply.head.contains("Content-Range: \(range)\r\n")) }
    #expect(reply.body == body)
  }

  @Test("A chunked body is sent in chunks, and a body without a length ends with the connection")
  func framing() async throws {
    let server = try LoopbackServer { request in
      request.path == "/chunks" ? .ok("0123456789ab").chunked(by: 5) : .ok("abc").withoutLength()
    }
    defer { server.stop() }
    let chunks = await RawClient.get(server, "/chunks")
    #expect(chunks.head.hasSuffix("Transfer-Encoding: chunked"))
    #expect(chunks.body == "5\r\n01234\r\n5\r\n56789\r\n2\r\nab\r\n0\r\n\r\n")
    let close = await RawClient.get(server, "/close")
    #expect(close.head.contains("Content-Length") == false)
    #expect(close.body == "abc")
  }

  @Test("A truncated response announces more than it sends, even in chunks, and closes the connection properly")
  func truncated() async throws {
    let server = try LoopbackServer { request in
      let response = ServerResponse.ok("0123456789").truncated(after: 4)
      return request.path == "/chunks" ? response.chunked() : response
    }
    defer { server.stop() }
    let reply = await RawClient.get(server, "/")
    #expect(reply.head.hasSuffix("Content-Length: 10"))
    #expect(reply.body == "0123")
    #expect(reply.code == 0)
    let chunks = await RawClient.get(server, "/chunks")
    #expect(chunks.body == "4\r\n0123\r\n")
    #expect(chunks.code == 0)
  }

  @Test("A reset ends the connection with ECONNRESET, after the part before it")
  func resets() async throws {
    let server = try LoopbackServer { request in
      request.path == "/middle" ? .ok("0123456789").reset(after: 4) : .resets
    }
    defer { server.stop() }
    let middle = await RawClient.get(server, "/middle")
    #expect(middle.code == ECONNRESET)
    #expect("0123".hasPrefix(middle.body))
    #expect(await RawClient.get(server, "/").code == ECONNRESET)
  }

  @Test("A connection can be closed without a response, and garbage is sent unchanged")
  func noHTTP() async throws {
    let server = try LoopbackServer { request in request.path == "/closes" ? .closes : .garbage(Data("miaow".utf8)) }
    defer { server.stop() }
    let closed = await RawClient.get(server, "/closes")
    #expect((closed.text, closed.code) == ("", 0))
    let garbage = await RawClient.get(server, "/garbage")
    #expect((garbage.text, garbage.code) == ("miaow", 0))
  }

  @Test("Slow and delayed responses arrive complete")
  func slow() async throws {
    let server = try LoopbackServer { _ in
      .ok("0123456789").slow(3, pause: .milliseconds(1)).delayed(.milliseconds(1)).delayed(.milliseconds(1), after: 5)
    }
    defer { server.stop() }
    #expect(await RawClient.get(server, "/").body == "0123456789")
  }
}
