extension Report {
  /// The measurements as a table with a row for each of ProcedureKit's contestants. The alternatives have their own columns.
  var table: String {
    let others: [Contestant.Role] = [.floor, .operationQueue, .dispatch]
    var rows = [["ns each", "", "floor", "OperationQueue", "Dispatch", "bare", "ProcedureKit", "of floor", "target"]]
    for measurement in measurements {
      var first = [measurement.workload.id, measurement.title]
      var beside = others.map { cell(measurement[$0]) }
      for result in measurement.results {
        guard case .procedureKit(let way) = result.contestant else { continue }
        let ratio = measurement[.floor].map { result.sample.ratios(to: $0).median.brief } ?? ""
        rows.append(
          [first[0], first[1] + (first[1].isEmpty ? "" : ": ") + way] + beside
            + [cell(measurement[.bare(way)]), cell(result.sample), ratio, verdict(measurement.workload.id, way)])
        first = ["", ""]
        beside = others.map { _ in "" }
      }
    }
    return Self.aligned(rows)
  }

  private func cell(_ sample: Sample?) -> String {
    guard let sample else { return "" }
    return "\(Int(sample.median.rounded()).grouped) ±\(Int((sample.spread * 100).rounded()))%"
  }

  private func verdict(_ workload: String, _ way: String) -> String {
    verdicts.filter { $0.workload == workload && $0.contestant == way }.map {
      "\($0.target) \($0.requirement): \($0.value.brief) \($0.isMet ? "met" : "MISSED")"
    }
    .joined(separator: ", ")
  }

  /// Left-aligns the first, second and last columns, and right-aligns the others.
  private static func aligned(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      row.indices.map { column in
        let isNumber = (2..<row.count - 1).contains(column)
        return row[column].padding(widths[column], onTheLeft: isNumber)
      }
      .joined(separator: "  ")
    }
    .joined(separator: "\n")
  }
}
