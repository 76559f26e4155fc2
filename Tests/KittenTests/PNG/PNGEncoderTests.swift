import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct PNGEncoderTests {
  @Test("Random pictures of every shape and depth are decoded to the same samples", arguments: 0..<40 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let image = Image.random(
      width: Int.random(in: 1...40, using: &generator), height: Int.random(in: 1...40, using: &generator),
      depth: seed % 2 == 0 ? .eight : .sixteen, using: &generator)
    let file = try PNGFile(PNGEncoder.encode(image))
    #expect(file.image == image)
    #expect(file.chunkNames == ["IHDR", "IDAT", "IEND"])
  }

  @Test("The photograph is decoded unchanged, uses several filters, and is a third smaller than its PPM")
  func photograph() throws {
    let image = try PPMFile(path: SamplePhotograph.path).image()
    let encoded = try PNGEncoder.encode(image)
    let file = try PNGFile(encoded)
    #expect(file.image == image)
    #expect(file.filters.count >= 3)
    #expect(encoded.count < image.samples.count * 2 / 3)
  }

  @Test("Each filter is chosen for the rows that it predicts best")
  func filters() {
    var filter = PNGRowFilter(bytesPerPixel: 3, bytesPerRow: 30)
    let ramp = (0..<30).map { UInt8(100 + 3 * ($0 / 3)) }
    #expect(filter.filter([UInt8](repeating: 0, count: 30)).first == PNGFilter.none.rawValue)
    #expect(filter.filter(ramp).first == PNGFilter.sub.rawValue)
    #expect(filter.filter(ramp).first == PNGFilter.up.rawValue)
    // Every pixel differs from the pixel on its left by as much as in the row above, so left + above - corner predicts it.
    #expect(filter.filter(ramp.map { $0 + 60 }).first == PNGFilter.paeth.rawValue)
  }

  @Test("A cancelled task stops encoding")
  func cancelled() async {
    let image = Image.plain(width: 2, height: 2, red: 1, green: 2, blue: 3)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try PNGEncoder.encode(image)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
