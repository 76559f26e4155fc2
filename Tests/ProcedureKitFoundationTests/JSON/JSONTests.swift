import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct JSONTests {
  struct Kitten: Codable, Hashable, Sendable {
    var name: String
    var lives = 9
    var born = Date(timeIntervalSince1970: 0)
  }

  @Test("A value that is encoded and decoded again is the same, even in a graph")
  func roundTrip() async throws {
    let roundTrip = EncodeJSON<Kitten>().then(DecodeJSON<Kitten>())
    #expect(try await roundTrip.execute(Kitten(name: "Tom")) == Kitten(name: "Tom"))
    let graph = ProcedureGraph("round") { (g, kitten: Node<Kitten>) in
      g.add(DecodeJSON<Kitten>(), from: g.add(EncodeJSON<Kitten>(), from: kitten))
    }
    #expect(try await graph.execute(Kitten(name: "Tim", lives: 3)).lives == 3)
  }

  @Test("Each run has its own encoder and decoder, with the given configuration")
  func configuration() async throws {
    let encode = EncodeJSON<Kitten> {
      $0.outputFormatting = [.sortedKeys]
      $0.dateEncodingStrategy = .iso8601
    }
    let decode = DecodeJSON<Kitten> { $0.dateDecodingStrategy = .iso8601 }
    let queue = ProcedureQueue("JSON")
    let handles = (0..<50).map { queue.add(encode.then(decode), input: Kitten(name: "\($0)", lives: $0)) }
    for (number, handle) in handles.enumerated() { #expect(try await handle.value.lives == number) }
    let data = try await encode.execute(Kitten(name: "Tom"))
    #expect(String(decoding: data, as: UTF8.self) == #"{"born":"1970-01-01T00:00:00Z","lives":9,"name":"Tom"}"#)
  }

  @Test("Data that is not JSON fails with the decoder's error, and a value that cannot be encoded with the encoder's")
  func errors() async {
    let queue = ProcedureQueue("JSON")
    let decoding = queue.add(DecodeJSON<Kitten>(), input: Data("{".utf8))
    #expect(await decoding.outcome.error(as: DecodingError.self) != nil)
    let encoding = queue.add(EncodeJSON<Double>(), input: .infinity)
    #expect(await encoding.outcome.error(as: EncodingError.self) != nil)
    #expect(decoding.name == "decode Kitten from JSON" && encoding.name == "encode Double as JSON")
  }
}
