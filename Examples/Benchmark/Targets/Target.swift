/// What ProcedureKit is to achieve.
struct Target: Sendable {
  /// One thing that is measured, against another or as it is.
  struct Comparison: Sendable {
    let workload: String
    let contestant: Contestant.Role
    /// What it is divided by, in the same round; `nil` for nothing.
    let baseline: Contestant.Role?
    /// How large that may be.
    let limit: Double

    /// - Returns: `nil` if it was not measured.
    func value(in measurement: Measurement) -> Double? {
      guard measurement.workload.id == workload, let sample = measurement[contestant] else { return nil }
      guard let baseline else { return sample.median }
      return measurement[baseline].map { sample.ratios(to: $0).median }
    }
  }

  let id: String
  let title: String
  let comparisons: [Comparison]

  /// - Parameters:
  ///   - id: What the command line calls it.
  ///   - title: What it is about.
  ///   - limit: How large a ratio may be, or a number of bytes.
  ///   - baseline: What is divided by, `nil` for nothing.
  ///   - pairs: Workloads, and which way of ProcedureKit's.
  init(
    _ id: String, _ title: String, atMost limit: Double, of baseline: Contestant.Role? = .floor,
    _ pairs: (workload: String, way: String)...
  ) {
    self.init(
      id, title,
      pairs.map {
        Comparison(workload: $0.workload, contestant: .procedureKit($0.way), baseline: baseline, limit: limit)
      })
  }

  init(_ id: String, _ title: String, _ comparisons: [Comparison]) {
    self.id = id
    self.title = title
    self.comparisons = comparisons
  }
}
