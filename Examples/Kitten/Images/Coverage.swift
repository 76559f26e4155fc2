/// The source pixels that every target pixel covers along one axis, and their weights.
///
/// Both axes are measured in steps that divide a source pixel and a target pixel evenly, so that all weights are whole
/// numbers: a source pixel is `target` steps long, a target pixel `source` steps. The weights of a target pixel add up to
/// `source` exactly, and averaging with them needs no floating point.
struct Coverage: Sendable {
  /// The first source pixel that each target pixel covers.
  private(set) var firsts: [Int] = []

  /// The weights of all target pixels, in sequence.
  private(set) var weights: [UInt64] = []

  /// The positions at which each target pixel's weights begin in ``weights``; one more at the end.
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
