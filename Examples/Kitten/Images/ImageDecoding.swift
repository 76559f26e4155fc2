extension Image {
  /// Creates a picture from the samples in a PPM file. The picture has 8 bits per sample, or 16 if the maximum in the file's header is
  /// above 255.
  ///
  /// If the maximum is neither 255 nor 65535, the samples are scaled and rounded to the nearest value.
  ///
  /// - Throws: ``PPMProblem/sampleAboveMaximum(sample:maximum:)`` if a sample exceeds the file's maximum; `CancellationError` soon after
  ///   the task is cancelled.
  init(header: PPMHeader, raster: ArraySlice<UInt8>) throws {
    precondition(raster.count == header.rasterByteCount)
    let depth: Depth = header.bytesPerSample == 2 ? .sixteen : .eight
    var samples: [UInt16] = []
    samples.reserveCapacity(raster.count / header.bytesPerSample)
    let rowByteCount = raster.count / header.height
    for start in stride(from: raster.startIndex, to: raster.endIndex, by: rowByteCount) {
      try Task.checkCancellation()
      let row = raster[start..<start + rowByteCount]
      switch depth {
      case .eight:
        for sample in row { samples.append(UInt16(sample)) }
      case .sixteen:
        for index in stride(from: row.startIndex, to: row.endIndex, by: 2) {
          samples.append(UInt16(row[index]) << 8 | UInt16(row[index + 1]))
        }
      }
    }
    if header.maximum != depth.maximum {
      try Self.stretch(&samples, from: header.maximum, to: depth.maximum)
    }
    self.init(width: header.width, height: header.height, depth: depth, samples: samples)
  }

  private static func stretch(
    _ samples: inout [UInt16], from maximum: Int, to newMaximum: Int
  ) throws(PPMProblem) {
    let stretched = (0...maximum).map { UInt16((2 * $0 * newMaximum + maximum) / (2 * maximum)) }
    for index in samples.indices {
      let sample = Int(samples[index])
      guard sample <= maximum else { throw .sampleAboveMaximum(sample: sample, maximum: maximum) }
      samples[index] = stretched[sample]
    }
  }
}
