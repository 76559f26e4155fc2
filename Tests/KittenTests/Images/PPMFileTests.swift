import Foundation
import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct PPMFileTests {
  private func image(_ header: String, _ raster: [UInt8]) throws -> Image {
    let directory = try TemporaryDirectory()
    return try PPMFile(path: directory.write(Array(header.utf8) + raster, to: "picture.ppm")).image()
  }

  @Test("Samples of 8 bits are not changed, and data after the picture is ignored")
  func eight() throws {
    let image = try image("P6 2 1 255\n", [1, 2, 3, 253, 254, 255, 99, 99])
    #expect(image == Image(width: 2, height: 1, depth: .eight, samples: [1, 2, 3, 253, 254, 255]))
  }

  @Test("Samples of 16 bits have their more significant byte first")
  func sixteen() throws {
    let image = try image("P6 1 1 65535\n", [0x12, 0x34, 0, 1, 0xff, 0xff])
    #expect(image == Image(width: 1, height: 1, depth: .sixteen, samples: [0x1234, 1, 0xffff]))
  }

  @Test("Other maxima are stretched to the full range, rounding to the nearest")
  func stretched() throws {
    #expect(try image("P6 1 1 1\n", [0, 1, 1]).samples == [0, 255, 255])
    #expect(try image("P6 1 1 100\n", [1, 50, 100]).samples == [3, 128, 255])
    let deep = try image("P6 1 1 1023\n", [0, 0, 2, 0, 3, 255])
    #expect(deep.depth == .sixteen)
    #expect(deep.samples == [0, 32_800, 65_535])
  }

  @Test("A sample above the maximum is an error")
  func aboveMaximum() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write(Array("P6 1 1 100\n".utf8) + [1, 2, 101], to: "bright.ppm")
    #expect(throws: KittenError.unreadablePicture(path, .sampleAboveMaximum(sample: 101, maximum: 100))) {
      try PPMFile(path: path).image()
    }
  }

  @Test("A cancelled task stops loading")
  func cancelled() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try PPMFile(path: SamplePhotograph.path).image()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("A missing file, a directory and a device have different errors")
  func notFiles() throws {
    let directory = try TemporaryDirectory()
    let missing = directory.path("none.ppm")
    #expect(throws: KittenError.noSuchFile(missing)) { try PPMFile(path: missing).checkExistence() }
    #expect(throws: KittenError.noSuchFile(missing)) { try PPMFile(path: missing).header() }
    #expect(throws: KittenError.notAFile(directory.path)) { try PPMFile(path: directory.path).image() }
    #expect(throws: KittenError.notAFile("/dev/zero")) { try PPMFile(path: "/dev/zero").header() }
  }

  @Test("Every message begins with the file and gives the reason")
  func messages() {
    let problem = PPMProblem.truncated(width: 1_000_000_000, height: 1_000_000_000, promised: nil, present: 17)
    #expect(
      "\(KittenError.unreadablePicture("a/b.ppm", problem))"
        == "a/b.ppm is truncated or damaged: the header promises 1000000000 × 1000000000 pixels "
        + "(more than 2^63 bytes), but 17 bytes follow it")
    #expect("\(KittenError.unwritableFile("x.png", SystemError(code: ENOSPC)))".contains("No space left on device"))
  }

  @Test("The photograph is the one in the example")
  func photograph() throws {
    let image = try PPMFile(path: SamplePhotograph.path).image()
    #expect(image.width == 451 && image.height == 300 && image.depth == .eight)
    #expect(image.samples.prefix(6) == [143, 120, 104, 143, 120, 104])
  }
}
