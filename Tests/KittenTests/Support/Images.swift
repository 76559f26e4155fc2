import Foundation

@testable import kitten

extension Image {
  static func random(
    width: Int, height: Int, depth: Depth = .eight, using generator: inout some RandomNumberGenerator
  ) -> Image {
    let samples = (0..<3 * width * height).map { _ in
      UInt16.random(in: 0...UInt16(depth.maximum), using: &generator)
    }
    return Image(width: width, height: height, depth: depth, samples: samples)
  }

  static func plain(
    width: Int, height: Int, depth: Depth = .eight, red: UInt16, green: UInt16, blue: UInt16
  ) -> Image {
    let samples = (0..<width * height).flatMap { _ in [red, green, blue] }
    return Image(width: width, height: height, depth: depth, samples: samples)
  }

  /// The picture as the contents of a PPM file.
  var ppm: [UInt8] {
    let raster = samples.flatMap { sample in
      depth == .sixteen ? [UInt8(sample >> 8), UInt8(sample & 0xff)] : [UInt8(sample)]
    }
    return Array("P6\n\(width) \(height)\n\(depth.maximum)\n".utf8) + raster
  }
}
