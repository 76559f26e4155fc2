import ProcedureKit
import Testing

@testable import kitten

@Suite struct PPMHeaderTests {
  /// Returns the header of a file that contains `raster` bytes after `text`.
  private func header(_ text: String, raster: Int = 1_000_000) throws(PPMProblem) -> PPMHeader {
    try PPMHeader(prefix: Array(text.utf8), fileSize: text.utf8.count + raster)
  }

  @Test(
    "Any whitespace and comments are accepted between the numbers",
    arguments: [
      "P6\n3 2\n255\n", "P6 3 2 255 ", "P6\t3\r2\u{b}255\u{c}", "P6\n# one\n3 # two\n# three\n2\n#\n255\n",
      "P6#comment\n3 2 255\n", "P6\n3#wide\n2\n255#bright\n", "P6\r\n# Mac and DOS\r\n3 2\r\n255\n", "P6 003 02 0255 ",
    ])
  func whitespace(text: String) throws {
    let header = try header(text, raster: 18)
    #expect(header.width == 3 && header.height == 2 && header.maximum == 255)
    #expect(header.byteCount == text.utf8.count)
    #expect(header.rasterByteCount == 18)
  }

  @Test("Exactly one whitespace character follows the maximum; a sample may look like a space or a comment")
  func separator() throws {
    for text in ["P6 1 1 255 ", "P6 1 1 255\n"] {
      let bytes = Array(text.utf8) + Array(" #\n".utf8)
      let header = try PPMHeader(prefix: bytes, fileSize: bytes.count)
      #expect(header.byteCount == text.utf8.count)
    }
  }

  @Test("A maximum above 255 means two bytes per sample")
  func bytesPerSample() throws {
    #expect(try header("P6 1 1 255 ").bytesPerSample == 1)
    #expect(try header("P6 1 1 256 ").bytesPerSample == 2)
    #expect(try header("P6 1 1 65535 ").rasterByteCount == 6)
  }

  @Test("The error for a file that is not a binary PPM shows its first bytes")
  func magic() {
    #expect(throws: PPMProblem.empty) { try header("", raster: 0) }
    #expect(throws: PPMProblem.wrongMagic(found: "\"P3\"")) { try header("P3 1 1 255 ") }
    #expect(throws: PPMProblem.wrongMagic(found: "\"·P\"")) { try header("\u{1b}PNG") }
    #expect(throws: PPMProblem.wrongMagic(found: "\"P61\"")) { try header("P61 1 255 ") }
    #expect(throws: PPMProblem.wrongMagic(found: "\"P\"")) { try header("P", raster: 0) }
  }

  @Test("A file that ends within its header is truncated, at every length", arguments: 2..<21)
  func endsInHeader(count: Int) {
    let prefix = Array("P6\n# cat\n451 300\n255\n".utf8.prefix(count))
    let field: PPMHeader.Field = count < 13 ? .width : count < 17 ? .height : .maximum
    #expect(throws: PPMProblem.endsInHeader(missing: field)) {
      try PPMHeader(prefix: prefix, fileSize: prefix.count)
    }
  }

  @Test("A header that never ends is refused")
  func endless() {
    let prefix = Array("P6 #".utf8) + [UInt8](repeating: 0x78, count: PPMHeader.byteLimit - 4)
    #expect(throws: PPMProblem.headerTooLong(limit: 65_536)) { try PPMHeader(prefix: prefix, fileSize: 1 << 40) }
  }

  @Test("The error for garbage in place of a number shows the garbage")
  func garbage() {
    #expect(throws: PPMProblem.notANumber(.width, found: "\"-3\"")) { try header("P6 -3 2 255 ") }
    #expect(throws: PPMProblem.notANumber(.height, found: "\"2x\"")) { try header("P6 3 2x 255 ") }
    #expect(throws: PPMProblem.notANumber(.maximum, found: "\"1.0\"")) { try header("P6 3 2 1.0 ") }
    #expect(throws: PPMProblem.notANumber(.maximum, found: "\"255·\"")) { try header("P6 3 2 255\0 ") }
  }

  @Test("No size overflows, and no memory is allocated for pixels that the file does not contain")
  func absurd() {
    #expect(
      throws: PPMProblem.truncated(
        width: 1_000_000_000, height: 1_000_000_000, promised: 3_000_000_000_000_000_000, present: 5)
    ) { try header("P6 1000000000 1000000000 255\n", raster: 5) }
    #expect(throws: PPMProblem.truncated(width: 1 << 62, height: 2, promised: nil, present: 5)) {
      try header("P6 4611686018427387904 2 255\n", raster: 5)
    }
    #expect(throws: PPMProblem.truncated(width: 1 << 61, height: 1, promised: nil, present: 5)) {
      try header("P6 2305843009213693952 1 65535\n", raster: 5)
    }
    #expect(throws: PPMProblem.numberTooLarge(.width)) { try header("P6 9223372036854775808 1 255\n") }
    #expect(throws: PPMProblem.numberTooLarge(.height)) { try header("P6 1 99999999999999999999999 255\n") }
    #expect(throws: PPMProblem.tooManyPixels(width: 100_001, height: 1000, limit: 100_000_000)) {
      try header("P6 100001 1000 255\n", raster: 1 << 40)
    }
  }

  @Test("Zero and a maximum out of range are refused")
  func range() {
    #expect(throws: PPMProblem.zero(.width)) { try header("P6 0 2 255 ") }
    #expect(throws: PPMProblem.zero(.height)) { try header("P6 3 0 255 ") }
    #expect(throws: PPMProblem.maximumOutOfRange(0)) { try header("P6 3 2 0 ") }
    #expect(throws: PPMProblem.maximumOutOfRange(65_536)) { try header("P6 3 2 65536 ") }
  }

  @Test("A file with one byte too few is truncated, and further bytes belong to the next picture")
  func truncated() throws {
    #expect(throws: PPMProblem.truncated(width: 3, height: 2, promised: 18, present: 17)) {
      try header("P6 3 2 255 ", raster: 17)
    }
    #expect(try header("P6 3 2 255 ", raster: 19).rasterByteCount == 18)
  }
}
