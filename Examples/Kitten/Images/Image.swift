/// A picture in memory: rows from top to bottom, pixels from left to right, each with red, green and blue.
struct Image: Equatable, Sendable {
  /// The number of bits of a sample.
  enum Depth: Int, Sendable {
    case eight = 8
    case sixteen = 16

    /// The brightest sample.
    var maximum: Int { (1 << rawValue) - 1 }

    /// The number of bytes of a sample in a file.
    var byteCount: Int { rawValue / 8 }
  }

  let width: Int
  let height: Int
  let depth: Depth

  /// Red, green and blue of every pixel; an 8-bit picture uses the range 0...255.
  let samples: [UInt16]

  init(width: Int, height: Int, depth: Depth, samples: [UInt16]) {
    precondition(width > 0 && height > 0, "A picture has at least one pixel")
    precondition(samples.count == 3 * width * height, "A picture has three samples for each pixel")
    self.width = width
    self.height = height
    self.depth = depth
    self.samples = samples
  }
}
