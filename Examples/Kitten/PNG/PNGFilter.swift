/// The prediction of a row of a PNG from its neighbours, which lets the remainder compress well (PNG, 9.2).
enum PNGFilter: UInt8, CaseIterable {
  case none = 0
  case sub = 1
  case up = 2
  case average = 3
  case paeth = 4
}

/// Chooses a filter for every row: the one whose bytes, as signed numbers, have the smallest sum of magnitudes. That is
/// the heuristic which the PNG specification recommends (12.7).
struct PNGRowFilter {
  private let bytesPerPixel: Int
  private var previous: [UInt8]
  private var filtered: [[UInt8]]

  init(bytesPerPixel: Int, bytesPerRow: Int) {
    self.bytesPerPixel = bytesPerPixel
    previous = [UInt8](repeating: 0, count: bytesPerRow)
    filtered = PNGFilter.allCases.map { [$0.rawValue] + [UInt8](repeating: 0, count: bytesPerRow) }
  }

  /// Returns the filter's number, followed by the filtered row. Rows are passed in order.
  mutating func filter(_ row: [UInt8]) -> [UInt8] {
    precondition(row.count == previous.count, "All rows of a picture are equally long")
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

  /// Filters the row and returns the sum of magnitudes. The result's first byte, the filter's number, is not changed.
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

  /// Returns the neighbour that is nearest to left + above - corner; ties are resolved in the order of the parameters.
  private static func paeth(left: UInt8, above: UInt8, corner: UInt8) -> UInt8 {
    let (a, b, c) = (Int(left), Int(above), Int(corner))
    let toLeft = abs(b - c)
    let toAbove = abs(a - c)
    let toCorner = abs(a + b - 2 * c)
    if toLeft <= toAbove, toLeft <= toCorner { return left }
    return toAbove <= toCorner ? above : corner
  }
}
