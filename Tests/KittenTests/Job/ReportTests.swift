import ProcedureKit
import Testing

@testable import kitten

@Suite(.timeLimit(.minutes(10))) struct ReportTests {
  private let small = Thumbnail(fileName: "a-8.png", width: 8, height: 5, byteCount: 99)
  private let large = Thumbnail(fileName: "a-128.png", width: 128, height: 85, byteCount: 12_345)

  @Test("The table has aligned columns and a row for every file, with the time for resizing and writing")
  func table() {
    let report = Report(thumbnails: [small, large], sourceCount: 1)
    let times: [SystemText: Duration] = ["resize a-8.png": .microseconds(1250), "write a-8.png": .milliseconds(20)]
    #expect(
      report.table(times: times) == """
        name           size  bytes     time
        a-8.png       8 × 5     99  21.3 ms
        a-128.png  128 × 85  12345   0.0 ms
        """)
  }

  @Test("The last line counts the written and the failed pictures")
  func summary() {
    var report = Report(thumbnails: [small, large], sourceCount: 1)
    #expect(
      report.summary(directory: "out", duration: .seconds(1)) == "2 files written to out, 12444 bytes, in 1000.0 ms")
    report = Report(thumbnails: [small], errors: ["b: no"], sourceCount: 2, failedSourceCount: 1)
    #expect(
      report.summary(directory: "out", duration: .zero)
        == "1 file written to out, 99 bytes, in 0.0 ms; 1 of 2 pictures failed")
    report.thumbnails = []
    #expect(report.summary(directory: "out", duration: .zero) == "nothing written, in 0.0 ms; 1 of 2 pictures failed")
  }

  @Test("The results of a source can fail for several reasons, each of which is named once")
  func collect() async throws {
    let sources = (["a", "b", "c"] as [SystemText]).map { Source(file: PPMFile(path: "\($0).ppm"), stem: $0) }
    let procedure = ProcedureIdentity(id: try #require(await Self.anyID), name: "load")
    let missing = ProcedureError.dependencyFailed(
      of: procedure, procedure,
      ProcedureError(.conditionFailed, procedure: procedure) {
        ($0.condition, $0.underlying) = ("the file exists", KittenError.noSuchFile("a.ppm"))
      })
    let report = await CollectReport(sources: sources).execute([
      .failure(missing), .failure(missing), .success(small), .success(large),
      .failure(KittenError.unwritableFile("c-8.png", SystemError(code: 28))),
      .failure(KittenError.unwritableFile("c-128.png", SystemError(code: 28))),
    ])
    #expect(report.thumbnails == [small, large])
    #expect(report.errors.first == "a.ppm: no such file")
    #expect(report.errors.count == 3)
    #expect(report.sourceCount == 3 && report.failedSourceCount == 2)
  }

  /// The identity of an arbitrary run. An identity cannot be created in any other way.
  private static var anyID: ProcedureID? {
    get async { ProcedureQueue("tests").add(ProcedureTask("any") {}).id }
  }
}
