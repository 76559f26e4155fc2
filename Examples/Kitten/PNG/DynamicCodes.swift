/// The two Huffman codes of a block. Only their code lengths are written, in a run-length encoding that uses a third code (RFC 1951,
/// 3.2.7).
struct DynamicCodes {
  let literals: HuffmanCode
  let distances: HuffmanCode

  private let literalCount: Int
  private let distanceCount: Int
  private let runs: [DeflateToken.Symbol]
  private let runCode: HuffmanCode
  private let runFrequencies: [Int]
  private let runCodeCount: Int

  /// The order in which the code lengths of the third code are written. Symbols that are often unused are written last.
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  init(literals: HuffmanCode, distances: HuffmanCode) {
    self.literals = literals
    self.distances = distances
    literalCount = max(257, 1 + (literals.lengths.lastIndex { $0 > 0 } ?? 0))
    distanceCount = max(1, 1 + (distances.lengths.lastIndex { $0 > 0 } ?? 0))
    let runs = Self.runs(
      in: Array(literals.lengths.prefix(literalCount) + distances.lengths.prefix(distanceCount)))
    var frequencies = [Int](repeating: 0, count: Self.order.count)
    for run in runs { frequencies[run.code] += 1 }
    let runCode = HuffmanCode(frequencies: frequencies, limit: 7)
    self.runs = runs
    self.runCode = runCode
    runFrequencies = frequencies
    runCodeCount = max(4, 1 + (Self.order.lastIndex { runCode.lengths[$0] > 0 } ?? 0))
  }

  /// The number of bits that ``write(to:)`` writes.
  var cost: Int {
    5 + 5 + 4 + 3 * runCodeCount + runCode.cost(of: runFrequencies) + runs.reduce(0) { $0 + $1.extraCount }
  }

  func write(to writer: inout BitWriter) {
    writer.write(literalCount - 257, count: 5)
    writer.write(distanceCount - 1, count: 5)
    writer.write(runCodeCount - 4, count: 4)
    for symbol in Self.order.prefix(runCodeCount) { writer.write(runCode.lengths[symbol], count: 3) }
    for run in runs {
      writer.write(runCode.codes[run.code], count: runCode.lengths[run.code])
      writer.write(run.extra, count: run.extraCount)
    }
  }

  /// Returns the run-length encoding of code lengths. The symbols 0 to 15 represent lengths, 16 repeats the previous length, and 17 and 18
  /// repeat zeros.
  private static func runs(in lengths: [Int]) -> [DeflateToken.Symbol] {
    var runs: [DeflateToken.Symbol] = []
    var start = 0
    while start < lengths.count {
      let length = lengths[start]
      var rest = lengths[start...].prefix { $0 == length }.count
      start += rest
      if length > 0 {
        runs.append(DeflateToken.Symbol(code: length))
        rest -= 1
      }
      while rest >= 3 {
        let count = min(rest, length > 0 ? 6 : 138)
        switch (length, count) {
        case (1..., _): runs.append(DeflateToken.Symbol(code: 16, extra: count - 3, extraCount: 2))
        case (_, ...10): runs.append(DeflateToken.Symbol(code: 17, extra: count - 3, extraCount: 3))
        default: runs.append(DeflateToken.Symbol(code: 18, extra: count - 11, extraCount: 7))
        }
        rest -= count
      }
      for _ in 0..<rest { runs.append(DeflateToken.Symbol(code: length)) }
    }
    return runs
  }
}
