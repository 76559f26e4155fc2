import ProcedureKit
import ProcedureKitFoundation
import Testing

@Suite struct JSONProcedureCoderTests {
  struct Kitten: Codable, Equatable {
    var name: String
    var lives: [String: Double]
    var friend: String?
  }

  let coder = JSONProcedureCoder()

  @Test("A value, even one that contains infinity, is decoded as it was encoded, and its keys are sorted")
  func roundTrip() throws {
    let tom = Kitten(name: "Tom / \u{1F63A}", lives: ["c": .infinity, "a": 1, "b": -.infinity], friend: nil)
    let bytes = try coder.encode(tom)
    let text = #"{"lives":{"a":1,"b":"-Infinity","c":"Infinity"},"name":"Tom / "# + "\u{1F63A}\"}"
    #expect(String(decoding: bytes, as: UTF8.self) == text)
    #expect(try coder.decode(Kitten.self, from: bytes) == tom)
    #expect(try coder.decode(Double.self, from: coder.encode(Double.nan)).isNaN)
  }

  @Test("A single number, string or missing value is also a valid JSON text")
  func fragments() throws {
    #expect(try coder.encode(7) == Array("7".utf8) && coder.encode("a") == Array("\"a\"".utf8))
    #expect(try coder.decode(Int?.self, from: coder.encode(Int?.none)) == nil)
  }

  @Test("Damaged bytes are a DecodingError", arguments: ["", "{", "{\"name\":7}", "\u{0}"])
  func damaged(_ text: String) {
    #expect(throws: DecodingError.self) { try coder.decode(Kitten.self, from: Array(text.utf8)) }
  }
}
