/// A method of predicting the bytes of a row from their neighbours. The prediction errors compress better than the bytes themselves (PNG,
/// 9.2).
enum PNGFilter: UInt8, CaseIterable {
  case none = 0
  case sub = 1
  case up = 2
  case average = 3
  case paeth = 4
}

/// A type that chooses the filter for each row.
///
/// As the PNG specification recommends (12.7), this type chooses the filter whose output, interpreted as signed numbers, has the smallest
/// sum of absolute values.
struct PNGRowFilter {
  private let bytesPerPixel: Int
  private var previous: [UInt8]
  private var filtered: [[UInt8]]

  init(bytesPerPixel: Int, bytesPerRow: Int) {
    self.bytesPerPixel = bytesPerPixel
    previous = [UInt8](repeating: 0, count: bytesPerRow)
    filtered = PNGFilter.allCases.map { [$0.rawValue] + [UInt8](repeating: 0, count: bytesPerRow) }
  }

  /// Returns the number of the filter, followed by the filtered row. Rows must be passed in order.
  mutating func filter(_ row: [UInt8]) -> [UInt8] {
    precondition(row.count == previous.count, "all rows of a picture must have the same length")
    var best = 0
    var smallest = Int.max
    for filter in PNGFilter.allCases {
      let index = Int(filter.rawValue)
      let sum = apply(filter, to: row, into: &filtered[index])
      if sum < smallest { (best, smallest) = (index, sum) }
    }
    previous = row
    return filtered[best]
  }

  /// Filters a row, and returns the sum of the absolute values of the filtered bytes. The first byte of the result, which is the number of
  /// the filter, is left unchanged.
  private func apply(_ filter: PNGFilter, to row: [UInt8], into result: inout [UInt8]) -> Int {
    var sum = 0
    for index in row.indices {
      let hasLeft = index >= bytesPerPixel
      let left = hasLeft ? row[index - bytesPerPixel] : 0
      let above = previous[index]
      let prediction: UInt8
      switch filter {
      case .none: prediction = 0
      case .sub: prediction = left
      case .up: prediction = above
      case .average: prediction = UInt8(truncatingIfNeeded: (UInt16(left) + UInt16(above)) / 2)
      case .paeth:
        prediction = Self.paeth(left: left, above: above, corner: hasLeft ? previous[index - bytesPerPixel] : 0)
      }
      let rest = row[index] &- prediction
      result[index + 1] = rest
      sum &+= Int(Int8(bitPattern: rest).magnitude)
    }
    return sum
  }

  /// Returns the neighbour that is nearest to left + above - corner. If several are equally near, the first of them in the parameter list
  /// is chosen.
  private static func paeth(left: UInt8, above: UInt8, corner: UInt8) -> UInt8 {
    let (a, b, c) = (Int(left), Int(above), Int(corner))
    let toLeft = abs(b - c)
    let toAbove = abs(a - c)
    let toCorner = abs(a + b - 2 * c)
    if toLeft <= toAbove, toLeft <= toCorner { return left }
    return toAbove <= toCorner ? above : corner
  }
}
