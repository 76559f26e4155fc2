/// The header of a binary PPM, checked against the size of its file before anything is allocated for the picture.
///
/// Format: <https://netpbm.sourceforge.net/doc/ppm.html>. A comment extends from `#` to the end of its line and is allowed
/// wherever whitespace is; exactly one whitespace character separates the maximum from the samples. Bytes after the
/// samples are ignored: the format allows several pictures in one file, of which the first is used.
struct PPMHeader: Equatable, Sendable {
  /// The numbers of a header, with their names in messages.
  enum Field: String, Sendable {
    case width = "width"
    case height = "height"
    case maximum = "maximum sample"
  }

  /// A header with its comments must fit into this many bytes.
  static let byteLimit = 65_536

  /// Larger pictures are refused: they would take more than 600 MB of memory.
  static let pixelLimit = 100_000_000

  let width: Int
  let height: Int

  /// The sample of full brightness, 1...65535; above 255, a sample takes two bytes, the more significant first.
  let maximum: Int

  /// The position of the samples.
  let byteCount: Int

  var bytesPerSample: Int { maximum > 255 ? 2 : 1 }

  /// The number of bytes of the samples; the initializer has checked that the file has them.
  var rasterByteCount: Int { 3 * bytesPerSample * width * height }

  /// Reads the header from the first bytes of a file.
  ///
  /// - Parameters:
  ///   - prefix: The file's first ``byteLimit`` bytes, or all of a shorter file.
  ///   - fileSize: The size of the whole file in bytes.
  /// - Throws: ``PPMProblem``, also if the file is smaller than the header requires.
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
