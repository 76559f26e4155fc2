import ProcedureKit
import Testing

@testable import kitten

@Suite struct HuffmanCodeTests {
  @Test("Codes are canonical, as in the example in RFC 1951, 3.2.2, with reversed bits")
  func canonical() {
    let code = HuffmanCode(lengths: [3, 3, 3, 3, 3, 2, 4, 4])
    #expect(code.codes == [0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111])
  }

  @Test("A rarer symbol never has a shorter code, and the cost is minimal")
  func optimal() {
    let code = HuffmanCode(frequencies: [5, 9, 12, 13, 16, 45, 0], limit: 15)
    #expect(code.lengths == [4, 4, 3, 3, 3, 1, 0])
    #expect(code.cost(of: [5, 9, 12, 13, 16, 45, 0]) == 224)
  }

  @Test("Fibonacci frequencies, which lead to the deepest tree, stay within the limit", arguments: [7, 15])
  func limited(limit: Int) {
    var frequencies = [1, 1]
    while frequencies.count < (limit == 7 ? 19 : 40) { frequencies.append(frequencies.suffix(2).reduce(0, +)) }
    let code = HuffmanCode(frequencies: frequencies, limit: limit)
    #expect(code.lengths.allSatisfy { 1...limit ~= $0 })
    #expect(code.lengths.reduce(0.0) { $0 + 1 / Double(1 << $1) } == 1, "The code is complete")
  }

  @Test(
    "An empty set of symbols and a single symbol also have a complete code",
    arguments: [[0, 0, 0], [0, 7, 0], [3, 0, 0]])
  func atLeastTwo(frequencies: [Int]) {
    let code = HuffmanCode(frequencies: frequencies, limit: 15)
    #expect(code.lengths.sorted() == [0, 1, 1])
    #expect(zip(code.lengths, frequencies).allSatisfy { $1 == 0 || $0 == 1 })
  }
}
