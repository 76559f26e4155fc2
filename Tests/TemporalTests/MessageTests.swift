import Testing

@testable import temporal

/// Tests messages against bytes that other implementations have written, and against invalid bytes.
@Suite struct MessageTests {
  static func bytes(_ build: (inout MessageWriter) -> Void) -> String {
    var message = MessageWriter()
    build(&message)
    return message.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
  }

  @Test("A duration, a payload and a retry policy have the same bytes as in other implementations")
  func examples() {
    #expect(Self.bytes { $0.write(10, .milliseconds(1_500)) } == "52 08 08 01 10 80 ca b5 ee 01")
    #expect(
      Self.bytes { $0.writePayloads(12, Array("7".utf8)) }
        == "62 1d 0a 1b 0a 16 0a 08 65 6e 63 6f 64 69 6e 67 12 0a 6a 73 6f 6e 2f 70 6c 61 69 6e 12 01 37")
    let policy = Self.bytes {
      $0.write(11) {
        $0.write(1, .milliseconds(200))
        $0.write(2, 1.5)
        $0.write(3, .seconds(1))
        $0.write(4, 5)
        $0.write(5, "Bad")
      }
    }
    // The other implementation also writes the seconds that are zero.
    #expect(policy == "5a 1b 0a 05 10 80 84 af 5f 11 00 00 00 00 00 00 f8 3f 1a 02 08 01 20 05 2a 03 42 61 64")
  }

  @Test("Default values are left out, and a negative number takes ten bytes")
  func values() {
    #expect(Self.bytes { $0.write(1, 0) }.isEmpty && Self.bytes { $0.write(1, "") }.isEmpty)
    #expect(Self.bytes { $0.write(1, false) }.isEmpty && Self.bytes { $0.write(1) { _ in } } == "0a 00")
    #expect(Self.bytes { $0.write(1, -1) } == "08 ff ff ff ff ff ff ff ff ff 01")
  }

  @Test("Fields are read as they were written, the last value of a single field counts, and unknown fields are skipped")
  func reading() throws {
    var message = MessageWriter()
    message.write(1, 300)
    message.write(1, -5)
    message.write(2, "first")
    message.write(2, "second")
    message.write(3, 2.5)
    message.write(4, .milliseconds(2_250))
    let reader = try MessageReader(message.bytes[...])
    #expect(reader.int(1) == -5 && reader.string(2) == "second" && !reader.has(9) && reader.int(9) == 0)
    #expect(try reader.duration(4) == .milliseconds(2_250) && reader.duration(9) == nil)
    #expect(try reader.message(9).isEmpty && reader.messages(4).count == 1)
  }

  @Test(
    "Bytes that are cut off or changed are an error or another message, and never a trap",
    arguments: 0..<50 as Range<UInt64>)
  func damaged(_ seed: UInt64) throws {
    var message = MessageWriter()
    message.write(1, "text")
    message.write(2) { $0.writePayloads(3, [1, 2, 3]) }
    message.write(200, 7)
    for count in 0..<message.bytes.count { _ = try? MessageReader(message.bytes[..<count]).message(2).payload(3) }
    var state = seed &* 0x9e37_79b9_7f4a_7c15
    for index in message.bytes.indices {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var bytes = message.bytes
      bytes[index] = UInt8(truncatingIfNeeded: state >> 33)
      let reader = try? MessageReader(bytes[...])
      _ = (try? reader?.message(2).payload(3), try? reader?.duration(2), reader?.int(200))
    }
    #expect(throws: MessageReader.Malformed.self) { try MessageReader([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]) }
    #expect(throws: MessageReader.Malformed.self) { try MessageReader([UInt8](repeating: 0xff, count: 11)[...]) }
  }
}
