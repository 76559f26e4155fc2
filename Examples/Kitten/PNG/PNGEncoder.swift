/// An encoder that encodes pictures as PNG (<https://www.w3.org/TR/png-3/>) in true colour with 8 or 16 bits per sample, without
/// interlacing.
enum PNGEncoder {
  static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

  /// Returns the contents of a PNG file for a picture.
  ///
  /// - Throws: `CancellationError` soon after the task is cancelled.
  static func encode(_ image: Image) throws -> [UInt8] {
    let header =
      UInt32(image.width).bigEndianBytes + UInt32(image.height).bigEndianBytes
      // The picture has true colour, uses deflate compression and adaptive filters, and is not interlaced.
      + [UInt8(image.depth.rawValue), 2, 0, 0, 0]
    var file = signature
    append("IHDR", header, to: &file)
    append("IDAT", try Zlib.compress(filteredRows(of: image)), to: &file)
    append("IEND", [], to: &file)
    return file
  }

  private static func append(_ type: StaticString, _ data: [UInt8], to file: inout [UInt8]) {
    let name = Array("\(type)".utf8)
    var checksum = CRC32()
    checksum.update(name)
    checksum.update(data)
    file += UInt32(data.count).bigEndianBytes
    file += name
    file += data
    file += checksum.value.bigEndianBytes
  }

  private static func filteredRows(of image: Image) throws -> [UInt8] {
    let samplesPerRow = 3 * image.width
    let bytesPerRow = samplesPerRow * image.depth.byteCount
    var filter = PNGRowFilter(bytesPerPixel: 3 * image.depth.byteCount, bytesPerRow: bytesPerRow)
    var row: [UInt8] = []
    row.reserveCapacity(bytesPerRow)
    var rows: [UInt8] = []
    rows.reserveCapacity(image.height * (1 + bytesPerRow))
    for start in stride(from: 0, to: image.samples.count, by: samplesPerRow) {
      try Task.checkCancellation()
      row.removeAll(keepingCapacity: true)
      for index in start..<start + samplesPerRow {
        let sample = image.samples[index]
        if image.depth == .sixteen { row.append(UInt8(truncatingIfNeeded: sample >> 8)) }
        row.append(UInt8(truncatingIfNeeded: sample))
      }
      rows += filter.filter(row)
    }
    return rows
  }
}
