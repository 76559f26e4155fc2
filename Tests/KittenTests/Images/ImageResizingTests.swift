import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct ImageResizingTests {
  /// Resizes an image according to the definition, in floating point: every pixel is the mean of the area that it covers.
  private func average(_ image: Image, toFit size: Int) -> [Double] {
    let (width, height) = image.dimensions(toFit: size)
    func overlap(_ target: Int, _ targets: Int, _ source: Int, _ sources: Int) -> Double {
      let scale = Double(sources) / Double(targets)
      return max(0, min(Double(source + 1), Double(target + 1) * scale) - max(Double(source), Double(target) * scale))
    }
    var result: [Double] = []
    for y in 0..<height {
      for x in 0..<width {
        for channel in 0..<3 {
          var (sum, area) = (0.0, 0.0)
          for sourceY in 0..<image.height {
            for sourceX in 0..<image.width {
              let weight = overlap(x, width, sourceX, image.width) * overlap(y, height, sourceY, image.height)
              sum += weight * Double(image.samples[3 * (sourceY * image.width + sourceX) + channel])
              area += weight
            }
          }
          result.append(sum / area)
        }
      }
    }
    return result
  }

  @Test(
    "Random pictures are averaged according to the definition, when they are reduced and enlarged",
    arguments: 0..<40 as Range<UInt64>)
  func definition(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let image = Image.random(
      width: Int.random(in: 1...12, using: &generator), height: Int.random(in: 1...12, using: &generator),
      depth: seed % 2 == 0 ? .eight : .sixteen, using: &generator)
    let size = Int.random(in: 1...15, using: &generator)
    let resized = try image.resized(toFit: size)
    let expected = average(image, toFit: size)
    #expect(resized.depth == image.depth)
    #expect(resized.samples.count == expected.count)
    #expect(zip(resized.samples, expected).allSatisfy { abs(Double($0) - $1) <= 0.5 + 1e-6 })
  }

  @Test("Resizing a picture to its own size changes nothing")
  func identity() throws {
    var generator = SplitMix64(seed: 3)
    let image = Image.random(width: 31, height: 17, using: &generator)
    #expect(try image.resized(toFit: 31) == image)
  }

  @Test("A plain colour is preserved exactly, at both ends of the range", arguments: [1, 7, 64, 300])
  func plain(size: Int) throws {
    let image = Image.plain(width: 97, height: 55, depth: .sixteen, red: 0, green: 65_535, blue: 32_769)
    let resized = try image.resized(toFit: size)
    #expect(stride(from: 0, to: resized.samples.count, by: 3).allSatisfy { resized.samples[$0] == 0 })
    #expect(stride(from: 1, to: resized.samples.count, by: 3).allSatisfy { resized.samples[$0] == 65_535 })
    #expect(stride(from: 2, to: resized.samples.count, by: 3).allSatisfy { resized.samples[$0] == 32_769 })
  }

  @Test("Halves are rounded up")
  func rounding() throws {
    let image = Image(width: 2, height: 1, depth: .eight, samples: [0, 1, 255, 1, 2, 0])
    #expect(try image.resized(toFit: 1).samples == [1, 2, 128])
  }

  @Test("The size is the length of the longer side, the aspect ratio is kept, and no side becomes zero")
  func dimensions() throws {
    func dimensions(_ width: Int, _ height: Int, _ size: Int) throws -> [Int] {
      let resized = try Image.plain(width: width, height: height, red: 1, green: 2, blue: 3).resized(toFit: size)
      return [resized.width, resized.height]
    }
    #expect(try dimensions(451, 300, 64) == [64, 43])
    #expect(try dimensions(300, 451, 128) == [85, 128])
    #expect(try dimensions(20, 20, 7) == [7, 7])
    #expect(try dimensions(1, 1, 1) == [1, 1])
    #expect(try dimensions(1, 1, 50) == [50, 50])
    #expect(try dimensions(10_000, 1, 3) == [3, 1])
    #expect(try dimensions(1, 10_000, 1) == [1, 1])
    #expect(try dimensions(1, 1000, Image.sizeLimit) == [8, Image.sizeLimit])
  }

  @Test("The weights of every target pixel add up to the source's length", arguments: 1...24)
  func coverage(target: Int) {
    for source in 1...24 {
      let coverage = Coverage(source: source, target: target)
      for pixel in 0..<target {
        let weights = coverage.weights[coverage.offsets[pixel]..<coverage.offsets[pixel + 1]]
        #expect(weights.reduce(0, +) == UInt64(source))
        #expect(weights.allSatisfy { $0 > 0 })
        #expect(coverage.firsts[pixel] + weights.count <= source)
      }
    }
  }

  @Test("A cancelled task stops resizing")
  func cancelled() async {
    let image = Image.plain(width: 5, height: 5, red: 1, green: 2, blue: 3)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try image.resized(toFit: 2)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
