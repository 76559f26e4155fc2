import ProcedureKit
import Testing

@testable import kitten

@Suite struct DeflateTokenTests {
  @Test("Lengths have the symbols of RFC 1951, 3.2.5")
  func lengths() {
    let expected = [
      (3, 257, 0, 0), (10, 264, 0, 0), (11, 265, 0, 1), (12, 265, 1, 1), (13, 266, 0, 1), (18, 268, 1, 1),
      (19, 269, 0, 2), (66, 276, 7, 3), (67, 277, 0, 4), (227, 284, 0, 5), (257, 284, 30, 5), (258, 285, 0, 0),
    ]
    for (length, code, extra, extraCount) in expected {
      let token = DeflateToken.match(.init(length: length, distance: 1))
      #expect(token.literalOrLength == .init(code: code, extra: extra, extraCount: extraCount), "length \(length)")
    }
  }

  @Test("Distances have the symbols of RFC 1951, 3.2.5")
  func distances() {
    let expected = [
      (1, 0, 0, 0), (4, 3, 0, 0), (5, 4, 0, 1), (6, 4, 1, 1), (7, 5, 0, 1), (9, 6, 0, 2), (192, 14, 63, 6),
      (193, 15, 0, 6), (24_576, 28, 8191, 13), (24_577, 29, 0, 13), (32_768, 29, 8191, 13),
    ]
    for (distance, code, extra, extraCount) in expected {
      let token = DeflateToken.match(.init(length: 3, distance: distance))
      #expect(token.distance == .init(code: code, extra: extra, extraCount: extraCount), "distance \(distance)")
    }
  }
}
