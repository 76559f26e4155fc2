import Foundation
import Testing

@testable import Benchmark

@Suite struct ReportTests {
  /// ProcedureKit's way costs a tenth of the floor.
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
      Target("P0", "generous", atMost: 0.2, ("W0", "run")), Target("P00", "strict", atMost: 0.05, ("W0", "run")),
      Target("P000", "absolute", atMost: 200, of: nil, ("W0", "run")),
      Target("P0000", "of something that was not measured", atMost: 1, ("W0", "add")),
    ])
    return report
  }()

  @Test("What was measured is judged: ratios of rounds, and numbers as they are")
  func verdicts() {
    #expect(Self.report.verdicts.map(\.target) == ["P0", "P00", "P000"])
    #expect(Self.report.verdicts.map(\.isMet) == [true, false, true])
    #expect(Self.report.verdicts.map(\.value) == [0.1, 0.1, 200])
  }

  @Test("What is missed is named, with by how much")
  func missed() {
    #expect(Self.report.failures == ["P00 (W0 run: 0.10, at most 0.05)"])
  }

  @Test(
    "Where a target says so, what is missed fails no check if it is near the bare mechanism, and is shown",
    arguments: [(50.0, true), (40, true), (39, false)])
  func bare(_ bare: Double, isNear: Bool) throws {
    var report = Report(samples: 2)
    report.append(
      Measurement(
        workload: Workload("W0", "made up", units: 1_000, []), units: 1_000,
        results: [
          .init(contestant: .floor, sample: Sample([1_000, 2_000])),
          .init(contestant: .bare("run"), sample: Sample([bare, 2 * bare])),
          .init(contestant: .procedureKit("run"), sample: Sample([80, 160])),
        ]))
    report.judge([
      Target("P0", "corrected", atMost: 0.05, orTimesBare: 2, ("W0", "run")),
      Target("P00", "met", atMost: 0.1, orTimesBare: 1, ("W0", "run")),
      Target("P000", "as it was", atMost: 0.05, ("W0", "run")),
    ])
    let times = (80 / bare).brief
    let text = "P0 (W0 run: 0.08, at most 0.05, \(times) × bare)"
    #expect(report.excused == (isNear ? [text] : []))
    #expect(report.failures == (isNear ? [] : [text]) + ["P000 (W0 run: 0.08, at most 0.05)"])
    #expect(report.verdicts.map(\.isMet) == [false, true, false])
    #expect(report.table.contains("P0 ≤ 0.05: 0.08 \(isNear ? "missed" : "MISSED"), \(times) × bare"))
    let root = try JSONSerialization.jsonObject(with: Data(try report.json.utf8)) as? [String: Any]
    let verdicts = try #require(root?["verdicts"] as? [[String: Any]])
    #expect(verdicts.map { $0["failsCheck"] as? Bool } == [!isNear, false, true])
    #expect(verdicts.map { $0["timesBare"] as? Double } == [80 / bare, 80 / bare, nil])
  }

  @Test("What is measured again is judged together with what was measured before, round by round")
  func again() {
    var report = Report(samples: 1)
    let workload = Workload("W0", "made up", units: 1_000, [])
    let target = Target("P0", "near", atMost: 0.2, ("W0", "run"))
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

  @Test("The table has everything side by side")
  func table() {
    let lines = Self.report.table.split(separator: "\n")
    #expect(lines.count == 2)
    for text in ["W0", "made up, 1,000: run", "2,000 ±38 %", "200 ±38 %", "0.10", "P0 ≤ 0.20: 0.10 met", "MISSED"] {
      #expect(lines[1].contains(text), "\(text)")
    }
    // Flush right, under its heading.
    let heading = lines[0].firstRange(of: "ProcedureKit").map { lines[0][..<$0.upperBound].count }
    let cell = lines[1].firstRange(of: " 200 ±38 %").map { lines[1][..<$0.upperBound].count }
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
    #expect(verdicts.map { $0["isMet"] as? Bool } == [true, false, true])
    #expect(verdicts[2]["baseline"] == nil)
  }

  @Test(
    "Thousands are set apart",
    arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-12_345, "-12,345"), (1_000_000, "1,000,000")])
  func grouping(_ number: Int, _ text: String) {
    #expect(number.grouped == text)
  }
}
