/// A prefix code for the symbols 0..<n. The code is canonical, since deflate transmits only the lengths of codes (RFC 1951, 3.2.2).
struct HuffmanCode {
  /// The number of bits in the code of each symbol; 0 for a symbol that does not occur.
  let lengths: [Int]

  /// The code of each symbol, with the bits in the order in which they are written.
  let codes: [Int]

  init(lengths: [Int]) {
    self.lengths = lengths
    let longest = lengths.max() ?? 0
    var counts = [Int](repeating: 0, count: longest + 1)
    for length in lengths where length > 0 { counts[length] += 1 }
    var next = [Int](repeating: 0, count: longest + 2)
    for length in stride(from: 1, through: longest, by: 1) {
      next[length + 1] = (next[length] + counts[length]) << 1
    }
    codes = lengths.map { length in
      guard length > 0 else { return 0 }
      defer { next[length] += 1 }
      return (0..<length).reduce(0) { $0 << 1 | next[length] >> $1 & 1 }
    }
  }

  /// Creates a code for symbols with the given frequencies. The code is optimal unless an optimal code would need more than `limit` bits
  /// for a symbol.
  ///
  /// At least two symbols receive a code, since some decoders require a complete code.
  init(frequencies: [Int], limit: Int) {
    var frequencies = frequencies
    while frequencies.count(where: { $0 > 0 }) < 2 {
      frequencies[frequencies.firstIndex(of: 0) ?? 0] = 1
    }
    var lengths = Self.optimalLengths(frequencies)
    // Halving the frequencies makes them more even, which shortens the longest codes. If all frequencies are equal, no code exceeds the
    // limits that are used here.
    while lengths.contains(where: { $0 > limit }) {
      frequencies = frequencies.map { ($0 + 1) / 2 }
      lengths = Self.optimalLengths(frequencies)
    }
    self.init(lengths: lengths)
  }

  /// Returns the number of bits that symbols with the given frequencies take up in this code.
  func cost(of frequencies: [Int]) -> Int {
    zip(frequencies, lengths).reduce(0) { $0 + $1.0 * $1.1 }
  }

  /// Computes optimal lengths, using Huffman's algorithm with two queues.
  ///
  /// One queue contains the leaves, sorted by weight; the other contains the inner nodes, which are created in order of their weights.
  private static func optimalLengths(_ frequencies: [Int]) -> [Int] {
    let leaves = frequencies.indices.filter { frequencies[$0] > 0 }.sorted { frequencies[$0] < frequencies[$1] }
    var weights = leaves.map { frequencies[$0] }
    var parents = [Int](repeating: 0, count: 2 * leaves.count - 1)
    var nextLeaf = 0
    var nextInner = leaves.count

    func takeLightest(into parent: Int) -> Int {
      let takesLeaf =
        nextLeaf < leaves.count && (nextInner >= weights.count || weights[nextLeaf] <= weights[nextInner])
      let node = takesLeaf ? nextLeaf : nextInner
      if takesLeaf { nextLeaf += 1 } else { nextInner += 1 }
      parents[node] = parent
      return weights[node]
    }

    for inner in leaves.count..<parents.count {
      weights.append(takeLightest(into: inner) + takeLightest(into: inner))
    }
    var depths = [Int](repeating: 0, count: parents.count)
    for node in parents.indices.dropLast().reversed() { depths[node] = depths[parents[node]] + 1 }
    var lengths = [Int](repeating: 0, count: frequencies.count)
    for (position, symbol) in leaves.enumerated() { lengths[symbol] = depths[position] }
    return lengths
  }
}
