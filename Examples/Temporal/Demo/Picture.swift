import Foundation

/// A picture in memory, with red, green and blue samples for each pixel, row by row.
struct Picture {
  let width: Int
  let height: Int
  private let samples: [UInt8]

  private init(width: Int, height: Int, samples: [UInt8]) {
    (self.width, self.height, self.samples) = (width, height, samples)
  }

  /// The maximum size of a file that is read, and the maximum number of pixels in a resized picture.
  private static let (largestFile, mostPixels) = (64 << 20, 1 << 24)

  /// Reads a PPM with 8 bits per sample from a regular file of at most 64 MiB. Files in `/proc` are refused, since they report no size, and
  /// some of them are endless.
  ///
  /// - Throws: ``ResizeError`` if the file cannot be read or is not such a picture.
  init(contentsOf path: String) throws {
    try self.init(ppm: try Self.contents(of: path), path)
  }

  private static func contents(of path: String) throws -> Data {
    var status = stat()
    // A pipe or a device might be endless.
    guard !path.utf8.contains(0), stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      (1...largestFile).contains(Int(status.st_size)), let data = FileManager.default.contents(atPath: path)
    else { throw ResizeError.unreadable(path) }
    return data
  }

  init(ppm data: Data, _ path: String) throws {
    let header = data.prefix(64).split(separator: UInt8(ascii: "\n"), maxSplits: 3)
    let words = header.prefix(3).flatMap { String(decoding: $0, as: UTF8.self).split(separator: " ") }
    let start = header.prefix(3).reduce(0) { $0 + $1.count + 1 }
    guard words.count == 4, words[0] == "P6", let width = Int(words[1]), let height = Int(words[2]), words[3] == "255",
      width > 0, height > 0, width <= Self.largestFile, height <= Self.largestFile,
      data.count - start == 3 * width * height
    else { throw ResizeError.unreadable(path) }
    self.init(width: width, height: height, samples: Array(data[start...]))
  }

  /// Returns a copy of the picture with another width, in which each pixel is the mean of the pixels that it covers.
  ///
  /// - Throws: ``ResizeError`` if the width is not positive, or the picture would have too many pixels.
  func resized(toWidth newWidth: Int) throws -> Picture {
    guard (1...Self.mostPixels).contains(newWidth) else { throw ResizeError.impossibleWidth(newWidth) }
    let newHeight = max(1, height * newWidth / width)
    guard newHeight <= Self.mostPixels / newWidth else { throw ResizeError.impossibleWidth(newWidth) }
    func range(_ pixel: Int, of count: Int, in whole: Int) -> Range<Int> {
      let start = pixel * whole / count
      return start..<max(start + 1, (pixel + 1) * whole / count)
    }
    var result: [UInt8] = []
    result.reserveCapacity(3 * newWidth * newHeight)
    for row in 0..<newHeight {
      let rows = range(row, of: newHeight, in: height)
      for column in 0..<newWidth {
        let columns = range(column, of: newWidth, in: width)
        for color in 0..<3 {
          var sum = 0
          for y in rows { for x in columns { sum += Int(samples[3 * (y * width + x) + color]) } }
          result.append(UInt8(sum / (rows.count * columns.count)))
        }
      }
    }
    return Picture(width: newWidth, height: newHeight, samples: result)
  }

  var ppm: [UInt8] { Array("P6\n\(width) \(height)\n255\n".utf8) + samples }

  /// The 64-bit FNV-1a hash of the file.
  var checksum: String {
    String(ppm.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }, radix: 16)
  }
}
