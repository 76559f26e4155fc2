import Foundation
import LoadedLibraries
import LoopbackServer
import Testing

/// Tests libcurl and zlib of this machine, with the calls that the transport and the example `Temporal` make.
@Suite(.timeLimit(.minutes(10)), .enabled(if: pk_curl_load() && pk_zlib_load())) struct LoadedLibrariesTests {
  private final class Received {
    var head = ""
    var body: [UInt8] = []
  }

  @Test("libcurl is at least as new as its function from 7.68 requires")
  func version() {
    #expect(pk_curl_version_number() >= 0x074400)
    #expect(String(cString: pk_curl_version()).contains("."))
  }

  @Test("A set of transfers performs a request with a body, and reports the end with the head and the body")
  func request() throws {
    let server = try LoopbackServer { .ok($0.body + Data($0.headers["X-Kitten"]?.utf8 ?? "".utf8)) }
    defer { server.stop() }
    let received = Received()
    let callbacks = UnsafeMutablePointer<pk_curl_callbacks>.allocate(capacity: 1)
    defer { callbacks.deallocate() }
    callbacks.initialize(to: pk_curl_callbacks())
    callbacks.pointee.context = Unmanaged.passUnretained(received).toOpaque()
    callbacks.pointee.header = { bytes, count, context in
      let received = Unmanaged<Received>.fromOpaque(context!).takeUnretainedValue()
      received.head += String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
      return count
    }
    callbacks.pointee.body = { bytes, count, context in
      let received = Unmanaged<Received>.fromOpaque(context!).takeUnretainedValue()
      received.body += UnsafeRawBufferPointer(start: bytes, count: count)
      return count
    }

    let easy = try #require(pk_curl_easy_init())
    let multi = try #require(pk_curl_multi_init())
    let list = try #require(pk_curl_list_append(nil, "X-Kitten: Mia"))
    let isSet = [
      pk_curl_set_callbacks(easy, callbacks), pk_curl_set_text(easy, CURLOPT_URL, server.url("/kitten").absoluteString),
      pk_curl_set_text(easy, CURLOPT_PROXY, ""), pk_curl_set_post(easy, "meow ", 5),
      pk_curl_set_list(easy, CURLOPT_HTTPHEADER, list), pk_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, 20_000),
      pk_curl_set_long(easy, CURLOPT_TIMEOUT_MS, 50_000), pk_curl_multi_add(multi, easy), pk_curl_multi_wakeup(multi),
    ]
    #expect(isSet.allSatisfy { $0 == CURLE_OK })

    var code: Int32 = -1
    var ended: OpaquePointer?
    while ended == nil {
      #expect(pk_curl_multi_perform(multi) == 0)
      ended = pk_curl_multi_next_ended(multi, &code)
      if ended == nil { #expect(pk_curl_multi_poll(multi, 1_000) == 0) }
    }
    #expect(ended == easy)
    #expect(code == CURLE_OK)
    #expect(String(cString: pk_curl_error_text(code)) == "No error")
    var status = 0
    #expect(pk_curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK)
    #expect(status == 200)
    #expect(received.head.hasPrefix("HTTP/1.1 200"))
    #expect(String(decoding: received.body, as: UTF8.self) == "meow Mia")
    #expect(server.requests.first?.method == "POST")

    #expect(pk_curl_multi_remove(multi, easy) == 0)
    pk_curl_easy_cleanup(easy)
    pk_curl_list_free(list)
    #expect(pk_curl_multi_cleanup(multi) == 0)
  }

  @Test("zlib decompresses gzip in pieces, and sees the end and a fault")
  func gzip() throws {
    // "a kitten", compressed by gzip.
    let bytes = try #require(Data(base64Encoded: "H4sIAAAAAAACA0tUyM4sKUnNAwCPiOpFCAAAAA=="))
    let inflater = try #require(pk_inflater_init())
    defer { pk_inflater_free(inflater) }
    for piece in [1, 5, bytes.count] {
      var text: [UInt8] = []
      var last = PK_INFLATE_CONTINUES
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let input = [UInt8](bytes[start..<min(start + piece, bytes.count)])
        var (inputCount, output) = (input.count, [UInt8](repeating: 0, count: 64))
        var outputCount = output.count
        last = pk_inflate(inflater, input, &inputCount, &output, &outputCount)
        #expect(inputCount == input.count)
        text += output.prefix(outputCount)
      }
      #expect(String(decoding: text, as: UTF8.self) == "a kitten")
      #expect(last == PK_INFLATE_ENDED)
      #expect(pk_inflater_restart(inflater))
    }
    var (inputCount, output) = (5, [UInt8](repeating: 0, count: 64))
    var outputCount = output.count
    #expect(pk_inflate(inflater, "meow!", &inputCount, &output, &outputCount) == PK_INFLATE_FAILED)
  }
}
