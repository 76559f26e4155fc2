/// The source pixels that each target pixel covers along one axis, and their weights.
///
/// The axis is measured in steps that divide both a source pixel and a target pixel evenly, so that all weights are whole numbers. A source
/// pixel is `target` steps long, and a target pixel is `source` steps long. The weights of a target pixel add up to exactly `source`, so
/// averaging with them needs no floating-point numbers.
struct Coverage: Sendable {
  /// The first source pixel that each target pixel covers.
  private(set) var firsts: [Int] = []

  /// The weights, grouped by target pixel.
  private(set) var weights: [UInt64] = []

  /// The position in ``weights`` at which the weights of each target pixel start, followed by the position at which the last weights end.
  private(set) var offsets: [Int] = [0]

  init(source: Int, target: Int) {
    firsts.reserveCapacity(target)
    offsets.reserveCapacity(target + 1)
    weights.reserveCapacity(source + target)
    for pixel in 0..<target {
      let start = pixel * source
      let end = start + source
      let first = start / target
      let last = (end - 1) / target
      firsts.append(first)
      for covered in first...last {
        weights.append(UInt64(min(end, (covered + 1) * target) - max(start, covered * target)))
      }
      offsets.append(weights.count)
    }
  }
}
