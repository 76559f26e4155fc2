import Foundation
import Testing

@testable import Benchmark

@Suite struct ReportTests {
  /// Measurements in which ProcedureKit's overhead is a tenth of the floor.
  static let report: Report = {
    let workload = Workload("W0", "made up", units: 1_000, [])
    var report = Report(samples: 3)
    report.append(
      Measurement(
        workload: workload, units: 1_000,
        results: [
          .init(contestant: .floor, sample: Sample([1_000, 2_000, 4_000])),
          .init(contestant: .procedureKit("run"), sample: Sample([100, 200, 400])),
        ]))
    report.judge([
      Target("P0", "generous", [.ratio("W0", "run", atMost: 0.2)]),
      Target("P00", "strict", [.ratio("W0", "run", atMost: 0.05)]),
      Target("P000", "absolute", [.cost("W0", "run", atMost: 200)]),
      Target("P0000", "a difference", [.excess("W0", "run", over: .floor, atMost: -1_700)]),
      Target("P00000", "of something that was not measured", [.ratio("W0", "add", atMost: 1)]),
    ])
    return report
  }()

  @Test("Results are judged: ratios and differences by round, and numbers as they are")
  func verdicts() {
    #expect(Self.report.verdicts.map(\.target) == ["P0", "P00", "P000", "P0000"])
    #expect(Self.report.verdicts.map(\.isMet) == [true, false, true, true])
    #expect(Self.report.verdicts.map(\.value) == [0.1, 0.1, 200, -1_800])
  }

  @Test("A missed target is named, with the size of the deviation")
  func missed() {
    #expect(Self.report.failures == ["P00 (W0 run: 0.10, ≤ 0.05 × floor)"])
  }

  @Test("New measurements are judged together with the earlier ones, round by round")
  func again() {
    var report = Report(samples: 1)
    let workload = Workload("W0", "made up", units: 1_000, [])
    let target = Target("P0", "near", [.ratio("W0", "run", atMost: 0.2)])
    var workloadsThatFailed: [Set<String>] = []
    for run in [300.0, 100, 150] {
      report.append(
        Measurement(
          workload: workload, units: 1_000,
          results: [
            .init(contestant: .floor, sample: Sample([1_000])),
            .init(contestant: .procedureKit("run"), sample: Sample([run])),
          ]))
      report.judge([target])
      workloadsThatFailed.append(report.failedWorkloads)
    }
    #expect(workloadsThatFailed == [["W0"], [], []])
    #expect(report.measurements.count == 1)
    #expect(report.measurements[0][.procedureKit("run")]?.values == [300, 100, 150])
    #expect(report.verdicts.map(\.value) == [0.15])
  }

  @Test("The table shows all results side by side")
  func table() {
    let lines = Self.report.table.split(separator: "\n")
    #expect(lines.count == 2)
    for text in [
      "W0", "made up, 1,000: run", "2,000 ±38%", "200 ±38%", "0.10", "P0 ≤ 0.20 × floor: 0.10 met", "MISSED",
    ] {
      #expect(lines[1].contains(text), "\(text)")
    }
    // The number is flush right, under its heading.
    let heading = lines[0].firstRange(of: "ProcedureKit").map { lines[0][..<$0.upperBound].count }
    let cell = lines[1].firstRange(of: " 200 ±38%").map { lines[1][..<$0.upperBound].count }
    #expect(heading != nil && heading == cell)
  }

  @Test("The JSON has every sample and every verdict")
  func json() throws {
    let root = try JSONSerialization.jsonObject(with: Data(try Self.report.json.utf8)) as? [String: Any]
    let measurement = try #require((root?["measurements"] as? [[String: Any]])?.first)
    #expect(measurement["workload"] as? String == "W0")
    #expect(measurement["measure"] as? String == "nanoseconds")
    let results = try #require(measurement["results"] as? [[String: Any]])
    #expect(results.map { $0["contestant"] as? String } == ["floor", "run"])
    #expect(results[0]["samples"] as? [Double] == [1_000, 2_000, 4_000])
    #expect(results[0]["median"] as? Double == 2_000)
    let verdicts = try #require(root?["verdicts"] as? [[String: Any]])
    #expect(verdicts.map { $0["isMet"] as? Bool } == [true, false, true, true])
    #expect(verdicts[1]["requirement"] as? String == "≤ 0.05 × floor")
    #expect(verdicts[2]["baseline"] == nil)
  }

  @Test(
    "Thousands are separated",
    arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-12_345, "-12,345"), (1_000_000, "1,000,000")])
  func grouping(_ number: Int, _ text: String) {
    #expect(number.grouped == text)
  }
}
