/// The part of a body that a `Range` field selects.
enum ByteRange: Equatable {
  /// A nonempty range of bytes.
  case part(Range<Int>)
  /// A range that is outside the body.
  case unsatisfiable
  /// The whole body. There is no `Range` field, or it can be ignored, for example because it contains several ranges.
  case whole

  init(header: String?, length: Int) {
    self = .whole
    guard let header, header.hasPrefix("bytes=") else { return }
    let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return }
    switch (Int(ends[0]), Int(ends[1])) {
    case (let first?, let last?) where first <= last: self = Self.clamped(first, min(last, length - 1))
    case (let first?, nil) where ends[1].isEmpty: self = Self.clamped(first, length - 1)
    case (nil, let count?) where ends[0].isEmpty: self = Self.clamped(max(0, length - count), length - 1)
    default: break
    }
  }

  private static func clamped(_ first: Int, _ last: Int) -> ByteRange {
    first <= last ? .part(first..<last + 1) : .unsatisfiable
  }
}
