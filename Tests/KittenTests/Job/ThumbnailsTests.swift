import Foundation
import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct ThumbnailsTests {
  private func job(_ paths: [SystemText], sizes: [Int], in directory: SystemText) -> Thumbnails {
    Thumbnails(sources: Source.find(paths).sources, sizes: sizes, output: OutputDirectory(directory))
  }

  @Test("Every picture is written in every size", arguments: [1, 2, 8])
  func writes(jobs: Int) async throws {
    let directory = try TemporaryDirectory()
    var generator = SplitMix64(seed: 4)
    let images = [
      Image.random(width: 30, height: 20, using: &generator),
      Image.random(width: 7, height: 9, depth: .sixteen, using: &generator),
    ]
    let paths = try images.enumerated().map { try directory.write($1.ppm, to: "in/\($0)/cat.ppm") }
    let (report, times) = try await job(paths, sizes: [4, 12], in: directory.path("out")).run(jobs: jobs)
    #expect(report.errors == [])
    #expect(report.thumbnails.map(\.fileName) == ["cat-4.png", "cat-12.png", "cat-2-4.png", "cat-2-12.png"])
    #expect(try directory.names(in: "out") == report.thumbnails.map(\.fileName).sorted())
    for (thumbnail, (image, size)) in zip(report.thumbnails, images.flatMap { image in [4, 12].map { (image, $0) } }) {
      let bytes = try directory.bytes(of: "out/\(thumbnail.fileName)")
      let png = try PNGFile(bytes)
      let isSmall = max(image.width, image.height) <= size
      #expect(png.image == (isSmall ? image : try image.resized(toFit: size)))
      #expect(thumbnail.width == png.width && thumbnail.height == png.height)
      #expect(thumbnail.byteCount == bytes.count)
      for step in [Step.resize(thumbnail.fileName), Step.write(thumbnail.fileName)] {
        #expect(times[SystemText(step)] != nil)
      }
    }
  }

  @Test("A problem with one picture does not stop the others, and leaves no incomplete file")
  func failures() async throws {
    let directory = try TemporaryDirectory()
    let good = Image.plain(width: 5, height: 4, red: 1, green: 2, blue: 3).ppm
    let paths = [
      directory.path("none.ppm"), try directory.write(good, to: "good.ppm"),
      try directory.write(good.dropLast(), to: "short.ppm"), try directory.write("hello".utf8, to: "text.ppm"),
      try directory.write("P6 1000000000 1000000000 255\n123".utf8, to: "huge.ppm"), directory.path,
      try directory.write(good, to: "blocked.ppm"),
    ]
    try directory.write([], to: "out/blocked-3.png/in the way")
    let sources = paths.map { Source(file: PPMFile(path: $0), stem: PPMFile(path: $0).stem) }
    let output = OutputDirectory(directory.path("out"))
    let (report, times) = try await Thumbnails(sources: sources, sizes: [2, 3], output: output).run(jobs: 3)
    #expect(report.thumbnails.map(\.fileName) == ["good-2.png", "good-3.png", "blocked-2.png"])
    #expect(try directory.names(in: "out") == ["blocked-2.png", "blocked-3.png", "good-2.png", "good-3.png"])
    #expect(report.failedSourceCount == 6)
    let loaded = sources.filter { times[SystemText(Step.load($0))] != nil }
    #expect(loaded.map(\.stem) == ["good", "blocked"], "The conditions have kept the others from being read")
    #expect(report.errors.count == 6)
    let reasons = [
      (paths[0].description, "no such file"), (paths[2].description, "60 bytes), but 59 bytes follow"),
      (paths[3].description, "not a binary PPM"),
      (paths[4].description, "1000000000 × 1000000000"), (paths[5].description, "not a regular file"),
      ("blocked-3.png", "Is a directory"),
    ]
    for (error, (name, reason)) in zip(report.errors, reasons) {
      #expect(error.contains(name) && error.contains(reason))
    }
  }

  @Test("An output directory that cannot be created is a single error, and nothing is computed")
  func unwritable() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write([1], to: "file")
    let (report, times) = try await job([SamplePhotograph.path], sizes: [8, 9], in: file).run(jobs: 2)
    #expect(report.errors == ["\(file) could not be used as the output directory: Not a directory"])
    #expect(Set(times.keys) == [SystemText(Step.prepare), SystemText(Step.report)])
  }

  @Test("A cancelled job throws, and leaves nothing behind")
  func cancelled() async throws {
    let directory = try TemporaryDirectory()
    let job = job([SamplePhotograph.path], sizes: [64, 128], in: directory.path("out"))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await job.run(jobs: 2)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    job.output.removeIfUnused()
    #expect(try directory.names() == [])
  }

  @Test("The diagram shows every step, and that the report takes failures, too")
  func diagram() {
    let lines = job(["cat.ppm"], sizes: [8], in: "out").graph.mermaid.split(separator: "\n").map(String.init)
    #expect(lines.first == "flowchart TD")
    for name in [Step.prepare, "load cat", "resize cat-8.png", "write cat-8.png", Step.report] {
      #expect(lines.contains { $0.hasSuffix("[\"\(name)\"]") })
    }
    #expect(lines.filter { $0.contains("-.->") }.count == 1)
  }
}
