extension Image {
  /// The largest size that ``resized(toFit:)`` takes: a square of it has 67 million pixels.
  static let sizeLimit = 8192

  /// Returns the width and height of this picture when its longer side is `size` pixels. The aspect ratio is kept as well as
  /// whole pixels allow, and no side is shorter than one pixel.
  func dimensions(toFit size: Int) -> (width: Int, height: Int) {
    let longer = max(width, height)
    let shorter = min(width, height)
    let shortened = max(1, (2 * shorter * size + longer) / (2 * longer))
    return width >= height ? (size, shortened) : (shortened, size)
  }

  /// Returns the picture with a longer side of `size` pixels, by averaging over areas.
  ///
  /// Every pixel of the result is the mean of the area that it covers, pixels at the rim of the area counting by the
  /// fraction covered; sums are exact and rounded once. Averages are taken of the samples as stored, as most tools do,
  /// not of linear light. A size above the picture's own enlarges it in the same way: its pixels become rectangles.
  ///
  /// - Precondition: `1...sizeLimit` contains `size`.
  /// - Throws: `CancellationError` soon after the task has been cancelled.
  func resized(toFit size: Int) throws -> Image {
    precondition(1...Self.sizeLimit ~= size, "A size is between 1 and \(Self.sizeLimit) pixels")
    let (newWidth, newHeight) = dimensions(toFit: size)
    let columns = Coverage(source: width, target: newWidth)
    let rows = Coverage(source: height, target: newHeight)
    let total = UInt64(width) * UInt64(height)

    var result: [UInt16] = []
    result.reserveCapacity(3 * newWidth * newHeight)
    var narrowed = [UInt64](repeating: 0, count: 3 * newWidth)
    var narrowedRow = -1  // neighbouring rows of the result share the source row between them
    var sums = narrowed
    for newRow in 0..<newHeight {
      for index in sums.indices { sums[index] = total / 2 }
      for (row, weight) in zip(rows.firsts[newRow]..., rows.weights[rows.offsets[newRow]..<rows.offsets[newRow + 1]]) {
        if row != narrowedRow {
          try Task.checkCancellation()
          narrow(row: row, by: columns, into: &narrowed)
          narrowedRow = row
        }
        for index in sums.indices { sums[index] &+= weight &* narrowed[index] }
      }
      for sum in sums { result.append(UInt16(truncatingIfNeeded: sum / total)) }
    }
    return Image(width: newWidth, height: newHeight, depth: depth, samples: result)
  }

  /// Sums up one row for every column of the result; each sum is `width` times the mean.
  private func narrow(row: Int, by columns: Coverage, into sums: inout [UInt64]) {
    let rowStart = 3 * width * row
    for column in columns.firsts.indices {
      var source = rowStart + 3 * columns.firsts[column]
      var (red, green, blue): (UInt64, UInt64, UInt64) = (0, 0, 0)
      for index in columns.offsets[column]..<columns.offsets[column + 1] {
        let weight = columns.weights[index]
        red &+= weight &* UInt64(samples[source])
        green &+= weight &* UInt64(samples[source + 1])
        blue &+= weight &* UInt64(samples[source + 2])
        source += 3
      }
      sums[3 * column] = red
      sums[3 * column + 1] = green
      sums[3 * column + 2] = blue
    }
  }
}
