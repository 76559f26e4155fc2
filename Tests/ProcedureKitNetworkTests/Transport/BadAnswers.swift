import Foundation
import LoopbackServer
import ProcedureKitNetwork

/// A row in the table of malformed responses, with the output of a server and the result for the caller.
struct BadAnswer: Sendable {
  enum Result: Sendable, CustomStringConvertible {
    case value(Int, String)
    case failure(NetworkError.Kind, URLError.Code? = nil)

    var description: String {
      switch self {
      case .value(let status, let text): "\(status) \(text.prefix(100))"
      case .failure(let kind, let code): "\(kind) \(code.map { "\($0.rawValue)" } ?? "")"
      }
    }
  }

  var name: String
  var response: ServerResponse
  var expected: Result
  var method = "GET"
  var headers: [String: String] = [:]
  var sizeLimit: Int64 = 16 << 20
  /// The number of seconds after which a silent transfer ends.
  var patience = 600.0
  var redirects = RedirectPolicy.never

  init(_ name: String, _ response: ServerResponse, _ expected: Result) {
    self.name = name
    self.response = response
    self.expected = expected
  }

  init(_ name: String, _ text: String, _ expected: Result) {
    self.init(name, .garbage(Data(text.utf8)), expected)
  }

  func with<Value>(_ path: WritableKeyPath<BadAnswer, Value>, _ value: Value) -> BadAnswer {
    var answer = self
    answer[keyPath: path] = value
    return answer
  }

  /// Returns whether a result is the expected one.
  func isMet(by result: Result) -> Bool {
    switch (expected, result) {
    case (.value(let status, let text), .value(let otherStatus, let other)): status == otherStatus && text == other
    case (.failure(let kind, let code), .failure(let otherKind, let other)):
      kind == otherKind && (code == nil || code == other)
    default: false
    }
  }
}

extension BadAnswer {
  /// "a kitten", compressed by gzip.
  static let gzip = Data(base64Encoded: "H4sIAAAAAAACA0tUyM4sKUnNAwCPiOpFCAAAAA==") ?? Data()
  /// 64 KB of zeros in 96 bytes, compressed by gzip. If they are repeated, they are a decompression bomb, because several streams can
  /// follow each other.
  static let zeros =
    Data(base64Encoded: "H4sIAAAAAAACA+3BAQEAAACAkP6v7ggK" + String(repeating: "A", count: 84) + "auuOl9cAAAEA")
    ?? Data()

  static let all: [BadAnswer] = [
    cuts, lengths, otherLengths, chunks, codings, offers, unknownCodings, empties, bombs, heads, statusLines, trailers,
    endlessTrailers, delays, floods,
  ].flatMap(\.self)

  private static let head = "HTTP/1.1 200 OK\r\n"

  /// The heads and bodies, cut at each byte.
  private static let cuts: [BadAnswer] = [
    (200, "GET", ""), (302, "GET", "Location: /elsewhere\r\n"), (401, "GET", "WWW-Authenticate: Basic realm=\"x\"\r\n"),
    (201, "PUT", ""),
  ].flatMap { (status: Int, method: String, field: String) -> [BadAnswer] in
    let head = Data("HTTP/1.1 \(status) OK\r\nX-Kitten: Mia\r\n\(field)Content-Length: 2\r\n\r\n".utf8)
    let whole = head + Data("ok".utf8)
    return (0...whole.count).map { count in
      let expected: Result =
        count < head.count
        ? .failure(.transferFailed) : count < whole.count ? .failure(.incomplete) : .value(status, "ok")
      return BadAnswer("\(method) \(status), cut after \(count) bytes", .garbage(whole.prefix(count)), expected)
        .with(\.method, method)
    }
  }

  private static let lengths: [BadAnswer] =
    [
      ("2147483648", Result.failure(.incomplete)), ("4294967296", .failure(.incomplete)),
      ("9223372036854775807", .failure(.incomplete)),
      ("9223372036854775808", .failure(.transferFailed, .badServerResponse)),
      ("99999999999999999999999999", .failure(.transferFailed, .badServerResponse)),
      ("-1", .failure(.transferFailed, .badServerResponse)), ("x", .failure(.transferFailed, .badServerResponse)),
      ("2, 2", .value(200, "ok")), ("2, 3", .failure(.transferFailed, .badServerResponse)),
      ("2\r\nContent-Length: 3", .failure(.transferFailed, .badServerResponse)), ("0002", .value(200, "ok")),
    ].map { (length: String, expected: Result) in
      BadAnswer("a length of \(length)", head + "Content-Length: \(length)\r\n\r\nok", expected)
        .with(\.sizeLimit, .max)
    }

  private static let otherLengths: [BadAnswer] = [
    BadAnswer("an announced gigabyte", head + "Content-Length: 1073741824\r\n\r\nok", .failure(.tooLarge)),
    BadAnswer("a body beyond its length", head + "Content-Length: 2\r\n\r\nokHTTP/1.1 500", .value(200, "ok")),
  ]

  private static let chunks: [BadAnswer] =
    [
      ("2\r\nok\r\n0\r\n\r\n", Result.value(200, "ok")), ("2;a=b\r\nok\r\n0\r\n\r\n", .value(200, "ok")),
      ("2\nok\n0\n\n", .value(200, "ok")), ("2\r\nok\r\n", .failure(.incomplete)), ("2\r\nok", .failure(.incomplete)),
      ("2\r\nok\r\n0\r\n", .failure(.incomplete)), ("80000000\r\nok", .failure(.incomplete)),
      ("100000000\r\nok", .failure(.incomplete)), ("7fffffffffffffff\r\nok", .failure(.incomplete)),
      ("8000000000000000\r\nok", .failure(.incomplete)), ("ffffffffffffffffffffffff\r\nok", .failure(.incomplete)),
      ("-2\r\nok\r\n0\r\n\r\n", .failure(.incomplete)), ("kitten", .failure(.incomplete)),
      ("2\r\nokay\r\n0\r\n\r\n", .failure(.incomplete)),
    ].map { (body: String, expected: Result) in
      BadAnswer("chunks \(body.debugDescription)", head + "Transfer-Encoding: chunked\r\n\r\n\(body)", expected)
        .with(\.sizeLimit, .max)
    }

  /// The head of a stream with a file name that does not end.
  private static let endlessName = gzip.prefix(3) + Data([8]) + gzip[4..<10] + Data(repeating: 0x61, count: 1 << 20)

  private static let codings: [BadAnswer] =
    [
      ("gzip", gzip, Result.value(200, "a kitten")), ("x-gzip", gzip, .value(200, "a kitten")),
      ("gzip", gzip + gzip, .value(200, "a kittena kitten")), ("GZIP", gzip, .value(200, "a kitten")),
      ("gzip", Data(), .value(200, "")),
      ("gzip", gzip.dropLast(), .failure(.incomplete)), ("gzip", gzip.prefix(12), .failure(.incomplete)),
      ("gzip", gzip + gzip.prefix(4), .failure(.incomplete)),
      ("gzip", Data("a kitten".utf8), .failure(.transferFailed, .cannotDecodeContentData)),
      ("gzip", gzip + Data("a kitten".utf8), .failure(.transferFailed, .cannotDecodeContentData)),
      ("identity", Data("a kitten".utf8), .value(200, "a kitten")), ("", Data("ok".utf8), .value(200, "ok")),
      ("utf-8", Data("a kitten".utf8), .value(200, "a kitten")),
      ("gzip", endlessName, .failure(.transferFailed, .cannotDecodeContentData)),
      ("gzip, gzip", zeros, .failure(.transferFailed, .cannotDecodeContentData)),
      ("gzip\r\nContent-Encoding: gzip", zeros, .failure(.transferFailed, .cannotDecodeContentData)),
    ].map { (coding: String, body: Data, expected: Result) in
      let response = ServerResponse.garbage(
        Data((head + "Content-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n").utf8) + body)
      return BadAnswer("the coding \(coding.debugDescription), \(body.count) bytes", response, expected)
    }

  /// Responses that are compressed by gzip, each with the `Accept-Encoding` field of its request.
  private static let offers: [BadAnswer] = [
    ("*", true), ("br, *;q=0.1", true), ("x-gzip", true), ("gzip;q=0.5", true), ("GZIP ;\tQ=1", true), ("*;q=0", false),
    ("*, gzip;q=0", false), ("gzip;q=0.000", false), ("br", false), ("", false),
  ].flatMap { (offer: String, isOffered: Bool) in
    ["gzip", "x-gzip"].map { coding in
      BadAnswer(
        "\(coding) for \(offer.debugDescription)", .ok(gzip, headers: ["Content-Encoding": coding]),
        isOffered ? .value(200, "a kitten") : .failure(.transferFailed, .cannotDecodeContentData)
      ).with(\.headers, ["Accept-Encoding": offer])
    }
  }

  private static let unknownCodings: [BadAnswer] = ["deflate", "br", "compress", "zstd", "gzip, br", "br, gzip"].map {
    coding in
    BadAnswer(
      "the coding \(coding)", .ok(gzip, headers: ["Content-Encoding": coding]),
      .failure(.transferFailed, .cannotDecodeContentData))
  }

  private static let bombs: [BadAnswer] = [
    BadAnswer(
      "gzip that was not asked for", .ok(gzip, headers: ["Content-Encoding": "gzip"]),
      .failure(.transferFailed, .cannotDecodeContentData)
    ).with(\.headers, ["Accept-Encoding": "identity"]),
    BadAnswer(
      "gzip without a length, cut", .ok(gzip.dropLast(9), headers: ["Content-Encoding": "gzip"]).withoutLength(),
      .failure(.incomplete)),
    BadAnswer(
      "compressed streams without contents", .endless(hollow).with(\.headers, ["Content-Encoding": "gzip"]),
      .failure(.transferFailed, .cannotDecodeContentData)),
    BadAnswer(
      "a bomb of one layer", .endless(bomb).with(\.headers, ["Content-Encoding": "gzip"]), .failure(.tooLarge)),
    BadAnswer(
      "a bomb of two layers", .endless(bomb).with(\.headers, ["Content-Encoding": "gzip, gzip"]),
      .failure(.transferFailed, .cannotDecodeContentData)),
    BadAnswer(
      "a bomb as a transfer coding", .endless(bomb).with(\.headers, ["Transfer-Encoding": "gzip"]),
      .failure(.transferFailed, .cannotDecodeContentData)),
    BadAnswer(
      "a bomb of two layers as transfer codings",
      .endless(bomb).with(\.headers, ["Transfer-Encoding": "gzip, gzip, chunked"]),
      .failure(.transferFailed, .cannotDecodeContentData)),
  ]

  private static let bomb = (0..<1_000).reduce(into: Data()) { bomb, _ in bomb += zeros }

  /// Empty data, compressed by gzip many times.
  private static let hollow = (0..<1_000).reduce(into: Data()) { data, _ in
    data += Data(base64Encoded: "H4sIAAAAAAACAwMAAAAAAAAAAAA=") ?? Data()
  }

  private static let heads: [BadAnswer] = [
    BadAnswer("lines that end with LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", .value(200, "ok")),
    BadAnswer("Latin-1 in a field", .garbage(latin), .value(200, "ok")),
    BadAnswer("no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", .value(200, "ok")),
    BadAnswer("a folded field", head + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nok", .value(200, "ok")),
    BadAnswer("HTTP/1.0 without a length", "HTTP/1.0 200 OK\r\n\r\nok", .value(200, "ok")),
    BadAnswer("HTTP/0.9", "ok, and not much else", .failure(.transferFailed, .badServerResponse)),
    BadAnswer("HTTP/3 in text", "HTTP/9.9 200 OK\r\n\r\nok", .failure(.transferFailed)),
    BadAnswer("a status of two digits", "HTTP/1.1 20 OK\r\n\r\nok", .failure(.transferFailed)),
    BadAnswer("a status of no digits", "HTTP/1.1 abc OK\r\n\r\nok", .failure(.transferFailed)),
    BadAnswer("no HTTP", .garbage(), .failure(.transferFailed)),
    BadAnswer("zeros", .garbage(Data(count: 1_000)), .failure(.transferFailed)),
    BadAnswer("100 before", "HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 2\r\n\r\nok", .value(200, "ok")),
    BadAnswer(
      "103 before", "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + head + "Content-Length: 2\r\n\r\nok", .value(200, "ok")),
    BadAnswer("100 and no more", "HTTP/1.1 100 Continue\r\n\r\n", .failure(.transferFailed)),
    BadAnswer(
      "101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: kitten\r\n\r\nmeow", .failure(.transferFailed)),
    BadAnswer(
      "a field without a colon", head + "X-Kitten\r\nContent-Length: 2\r\n\r\nok",
      .failure(.transferFailed, .badServerResponse)),
    BadAnswer("a 401 with Basic", .status(401, headers: ["WWW-Authenticate": "Basic"]), .value(401, "")),
    BadAnswer("a 407", .status(407, headers: ["Proxy-Authenticate": "Basic"]), .value(407, "")),
    BadAnswer("a redirect without a target", "HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nok", .value(302, "ok"))
      .with(\.redirects, RedirectPolicy()),
    BadAnswer("a redirect whose head is cut", "HTTP/1.1 302 Found\r\nLocation: /\r\n", .failure(.transferFailed))
      .with(\.redirects, RedirectPolicy()),
    BadAnswer("204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok", .value(204, "")),
    BadAnswer(
      "HEAD, compressed, in chunks", .ok(gzip, headers: ["Content-Encoding": "gzip"]).chunked(), .value(200, "")
    )
    .with(\.method, "HEAD"),
    BadAnswer("HEAD, compressed", .ok(gzip, headers: ["Content-Encoding": "gzip"]), .value(200, "")).with(
      \.method, "HEAD"),
  ]

  /// Heads that libcurl and this program could interpret differently. libcurl reads the status of the first line only, and ends a head at
  /// any line that begins with CR.
  private static let statusLines: [BadAnswer] = [
    BadAnswer("a field like a status line", head + "HTTP/1.1 204: x\r\n\(okay)", .failure(.transferFailed, bad)),
    BadAnswer("a second status line", head + "HTTP/1.1 500 Broken: x\r\n\(okay)", .failure(.transferFailed, bad)),
    BadAnswer("a field like an interim head", head + "HTTP/1.1 100: x\r\n\(okay)", .failure(.transferFailed, bad)),
    BadAnswer("a field HTTP/", head + "HTTP/kitten: Mia\r\n\(okay)", .failure(.transferFailed, bad)),
    BadAnswer(
      "an interim head like a final one, before a bomb",
      .garbage(
        Data("HTTP/1.1 100 Continue\r\nHTTP/1.1 200 x: y\r\n\r\n\(head)Transfer-Encoding: gzip\r\n\r\n".utf8) + bomb),
      .failure(.transferFailed, bad)),
    BadAnswer(
      "an interim head, then a field", "HTTP/1.1 100 Continue\r\n\r\nX: y\r\n\(okay)", .failure(.transferFailed)),
    BadAnswer(
      "an interim head with CR", "HTTP/1.1 100 Continue\r\n\rX\r\n\(head)\(okay)", .failure(.transferFailed, bad)),
    BadAnswer(
      "CR at the start of a line", head + "Content-Length: 2\r\n\rX: y\r\n\r\nok", .failure(.transferFailed, bad)),
    BadAnswer(
      "CR at the start of a line, no body", head + "Content-Length: 0\r\n\rX: y\r\n", .failure(.transferFailed)),
    BadAnswer("two numbers in a status line", "HTTP/1.1\t100 200\r\n\(okay)", .failure(.transferFailed)),
    BadAnswer("spaces in a version", "HTTP/ 1.1 200 OK\r\n\(okay)", .failure(.transferFailed, bad)),
    BadAnswer("spaces before a status", "HTTP/1.1   200 OK\r\n\(okay)", .value(200, "ok")),
    BadAnswer("a status of four digits", "HTTP/1.1 2000 OK\r\n\(okay)", .failure(.transferFailed)),
    BadAnswer("a status below 100", "HTTP/1.1 099 OK\r\n\(okay)", .failure(.transferFailed)),
    BadAnswer("a negative status", "HTTP/1.1 -20 OK\r\n\(okay)", .failure(.transferFailed)),
    BadAnswer(
      "a transfer coding in the trailers",
      head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n",
      .failure(.transferFailed, .cannotDecodeContentData)),
    BadAnswer(
      "a status line in the trailers",
      head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nHTTP/1.1 500: x\r\n\r\n",
      .value(200, "ok")),
  ]

  private static let okay = "Content-Length: 2\r\n\r\nok"
  private static let bad = URLError.Code.badServerResponse

  /// Empty bodies whose heads say that they are compressed.
  private static let empties: [BadAnswer] =
    [
      ("GET", "200 OK", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), ("GET", "200 OK", "\r\n"),
      ("GET", "204 No Content", "\r\n"), ("GET", "204 No Content", "Transfer-Encoding: chunked\r\n\r\n"),
      ("GET", "304 Not Modified", "Content-Length: 100\r\n\r\n"),
      ("GET", "304 Not Modified", "Transfer-Encoding: chunked\r\n\r\n"),
      ("GET", "404 Not Found", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ].map { (method: String, status: String, rest: String) in
      BadAnswer(
        "\(method) \(status), compressed and empty: \(rest.debugDescription)",
        "HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\n\(rest)", .value(Int(status.prefix(3)) ?? 0, "")
      ).with(\.method, method)
    }

  private static let latin =
    Data("HTTP/1.1 200 OK\r\nX-Kitten: M".utf8) + [0xe9] + Data("\r\nContent-Length: 2\r\n\r\nok".utf8)

  private static let trailers: [BadAnswer] =
    [
      ("X-Kitten: Mia\r\n\r\n", Result.value(200, "ok")), ("no colon\r\n\r\n", .failure(.incomplete)),
      ("X-Kitten: Mia\r\n", .failure(.incomplete)), ("X-Kit", .failure(.incomplete)),
    ].map { (text: String, expected: Result) in
      BadAnswer(
        "trailers \(text.debugDescription)", head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(text)",
        expected)
    }

  private static let endlessTrailers: [BadAnswer] = [
    BadAnswer(
      "endless trailers",
      head + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
        + String(repeating: "X-Kitten: Mia\r\n", count: 100_000), .failure(.transferFailed))
  ]

  private static let delays: [BadAnswer] = [
    BadAnswer(
      "a slow head", .garbage(Data("\(head)Content-Length: 2\r\n\r\nok".utf8)).slow(1, pause: .milliseconds(1)),
      .value(200, "ok")),
    BadAnswer("a slow body", .ok("0123456789").slow(1, pause: .milliseconds(2)), .value(200, "0123456789")),
    BadAnswer("silence", .neverAnswers, .failure(.transferFailed, .timedOut)).with(\.patience, 1),
    BadAnswer(
      "silence in the head", .garbage(Data(head.utf8)).stalled(after: head.utf8.count - 3),
      .failure(.transferFailed, .timedOut)
    ).with(\.patience, 1),
    BadAnswer("silence in the body", .ok("0123456789").stalled(after: 4), .failure(.transferFailed, .timedOut))
      .with(\.patience, 1),
    BadAnswer(
      "silence at the end", .garbage(unended).stalled(after: unended.count), .failure(.transferFailed, .timedOut)
    ).with(\.patience, 1),
    BadAnswer("a reset", .resets, .failure(.transferFailed, .networkConnectionLost)),
    BadAnswer("a reset in the head", .garbage(Data(head.utf8)).reset(after: 9), .failure(.transferFailed)),
    BadAnswer("a reset in the body", .ok("0123456789").reset(after: 4), .failure(.incomplete)),
    BadAnswer("a connection that is closed", .closes, .failure(.transferFailed, .networkConnectionLost)),
  ]

  private static let unended = Data("\(head)Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n".utf8)

  private static let floods: [BadAnswer] = [
    BadAnswer("a body without an end", .endless(), .failure(.tooLarge)),
    BadAnswer("a long field", head + "X: \(String(repeating: "x", count: 1 << 20))\r\n\r\n", .failure(.transferFailed)),
    BadAnswer(
      "many fields", head + String(repeating: "X-Kitten: Mia\r\n", count: 100_000) + "\r\n", .failure(.transferFailed)),
    BadAnswer(
      "many heads", String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100_000), .failure(.transferFailed)),
    BadAnswer(
      "chunks of one byte",
      .endless(Data(String(repeating: "1\r\nx\r\n", count: 20_000).utf8))
        .with(\.headers, ["Transfer-Encoding": "chunked"]), .failure(.tooLarge)),
  ]
}

extension ServerResponse {
  fileprivate func with(_ path: WritableKeyPath<ServerResponse, HeaderFields>, _ value: HeaderFields) -> ServerResponse
  {
    var response = self
    response[keyPath: path] = value
    return response
  }
}
