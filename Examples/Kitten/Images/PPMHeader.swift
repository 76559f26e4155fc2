/// The header of a binary PPM file. It is checked against the size of the file before memory for the picture is allocated.
///
/// The format is described at <https://netpbm.sourceforge.net/doc/ppm.html>. A comment extends from `#` to the end of its line, and can
/// appear wherever white space is allowed. Exactly one white-space character separates the maximum from the samples. The format allows
/// several pictures in a file, but only the first is used, so bytes after its samples are ignored.
struct PPMHeader: Equatable, Sendable {
  /// The numbers in a header, with their names as they appear in messages.
  enum Field: String, Sendable {
    case width = "width"
    case height = "height"
    case maximum = "maximum sample"
  }

  /// The maximum size of a header, including its comments, in bytes.
  static let byteLimit = 65_536

  /// The maximum number of pixels. Larger pictures are refused, since they would take up more than 600 MB of memory.
  static let pixelLimit = 100_000_000

  let width: Int
  let height: Int

  /// The value of the brightest sample, from 1 to 65535. If it is above 255, each sample consists of two bytes, the more significant one
  /// first.
  let maximum: Int

  /// The size of the header in bytes, which is also the offset of the samples.
  let byteCount: Int

  var bytesPerSample: Int { maximum > 255 ? 2 : 1 }

  /// The total size of the samples in bytes. The initializer has checked that the file contains that many bytes after the header.
  var rasterByteCount: Int { 3 * bytesPerSample * width * height }

  /// Parses the header from the first bytes of a file.
  ///
  /// - Parameters:
  ///   - prefix: The first ``byteLimit`` bytes of the file, or all bytes of a shorter file.
  ///   - fileSize: The size of the whole file in bytes.
  /// - Throws: ``PPMProblem`` if the header is invalid, or if the file is smaller than the header requires.
  init(prefix: [UInt8], fileSize: Int) throws(PPMProblem) {
    var scanner = PPMHeaderScanner(bytes: prefix, isWholeFile: prefix.count >= fileSize)
    try scanner.skipMagic()
    let width = try scanner.number(.width)
    let height = try scanner.number(.height)
    let maximum = try scanner.number(.maximum)
    try scanner.skipSeparator()
    if width == 0 { throw .zero(.width) }
    if height == 0 { throw .zero(.height) }
    guard (1...65_535).contains(maximum) else { throw .maximumOutOfRange(maximum) }

    let (pixels, overflows) = width.multipliedReportingOverflow(by: height)
    let (promised, overflowsInBytes) = pixels.multipliedReportingOverflow(by: maximum > 255 ? 6 : 3)
    let isCountable = !overflows && !overflowsInBytes
    let present = fileSize - scanner.position
    guard isCountable, promised <= present else {
      throw .truncated(width: width, height: height, promised: isCountable ? promised : nil, present: present)
    }
    guard pixels <= Self.pixelLimit else {
      throw .tooManyPixels(width: width, height: height, limit: Self.pixelLimit)
    }
    self.width = width
    self.height = height
    self.maximum = maximum
    byteCount = scanner.position
  }
}
