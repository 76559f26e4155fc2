extension Image {
  /// The largest size that ``resized(toFit:)`` accepts. A square of this size has 67 million pixels.
  static let sizeLimit = 8192

  /// Returns the width and height of a picture that has the aspect ratio of this picture and whose longer side has `size` pixels.
  ///
  /// Both are rounded to whole pixels, and are at least 1.
  func dimensions(toFit size: Int) -> (width: Int, height: Int) {
    let longer = max(width, height)
    let shorter = min(width, height)
    let shortened = max(1, (2 * shorter * size + longer) / (2 * longer))
    return width >= height ? (size, shortened) : (shortened, size)
  }

  /// Returns a copy of the picture whose longer side has `size` pixels. The copy is computed by area averaging.
  ///
  /// Each pixel of the result is the mean of the source area that it covers. A source pixel that is only partly covered is weighted by the
  /// covered fraction. Sums are exact, and are rounded only once. As in most tools, the stored samples are averaged without converting them
  /// to linear light. A smaller picture is enlarged in the same way, and its pixels become rectangles.
  ///
  /// - Precondition: `1...sizeLimit` contains `size`.
  /// - Throws: `CancellationError` soon after the task is cancelled.
  func resized(toFit size: Int) throws -> Image {
    precondition(1...Self.sizeLimit ~= size, "a size must be between 1 and \(Self.sizeLimit) pixels")
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

  /// Adds up the samples of one row for each column of the result. Each sum is `width` times the mean.
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
