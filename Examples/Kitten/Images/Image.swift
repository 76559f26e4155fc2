/// A picture in memory. The rows are stored from top to bottom, and the pixels in a row from left to right.
struct Image: Equatable, Sendable {
  /// The number of bits in a sample.
  enum Depth: Int, Sendable {
    case eight = 8
    case sixteen = 16

    /// The value of the brightest sample.
    var maximum: Int { (1 << rawValue) - 1 }

    /// The number of bytes that a sample takes up in a file.
    var byteCount: Int { rawValue / 8 }
  }

  let width: Int
  let height: Int
  let depth: Depth

  /// The red, green and blue samples of each pixel. In an 8-bit picture, they are in the range 0...255.
  let samples: [UInt16]

  init(width: Int, height: Int, depth: Depth, samples: [UInt16]) {
    precondition(width > 0 && height > 0, "a picture must have at least one pixel")
    precondition(samples.count == 3 * width * height, "a picture must have three samples per pixel")
    self.width = width
    self.height = height
    self.depth = depth
    self.samples = samples
  }
}
