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
    /// How many times as much as the bare mechanism is good enough where the limit is missed; `nil` where nothing is: what has
    /// turned out to be less than the language takes, on most machines, is no limit to hold the library to.
    var mostTimesBare: Double?

    /// The bare mechanism of the same way, where that counts.
    var bare: Contestant.Role? {
      guard mostTimesBare != nil, case .procedureKit(let way) = contestant else { return nil }
      return .bare(way)
    }

    /// - Returns: `nil` if it was not measured.
    func value(in measurement: Measurement) -> Double? {
      guard let baseline else { return sample(in: measurement)?.median }
      return ratio(to: baseline, in: measurement)
    }

    /// - Returns: How many times as much it is as the bare mechanism; `nil` if that does not count or was not measured.
    func timesBare(in measurement: Measurement) -> Double? {
      bare.flatMap { ratio(to: $0, in: measurement) }
    }

    private func ratio(to other: Contestant.Role, in measurement: Measurement) -> Double? {
      guard let sample = sample(in: measurement) else { return nil }
      return measurement[other].map { sample.ratios(to: $0).median }
    }

    private func sample(in measurement: Measurement) -> Sample? {
      measurement.workload.id == workload ? measurement[contestant] : nil
    }
  }

  let id: String
  let title: String
  let comparisons: [Comparison]

  /// - Parameters:
  ///   - id: What the command line calls it.
  ///   - title: What it is about.
  ///   - limit: How large a ratio may be, or a number of bytes.
  ///   - mostTimesBare: How many times as much as the bare mechanism it may cost instead; `nil` where that does not count.
  ///   - baseline: What is divided by, `nil` for nothing.
  ///   - pairs: Workloads, and which way of ProcedureKit's.
  init(
    _ id: String, _ title: String, atMost limit: Double, orTimesBare mostTimesBare: Double? = nil,
    of baseline: Contestant.Role? = .floor,
    _ pairs: (workload: String, way: String)...
  ) {
    self.init(
      id, title,
      pairs.map {
        Comparison(
          workload: $0.workload, contestant: .procedureKit($0.way), baseline: baseline, limit: limit,
          mostTimesBare: mostTimesBare)
      })
  }

  init(_ id: String, _ title: String, _ comparisons: [Comparison]) {
    self.id = id
    self.title = title
    self.comparisons = comparisons
  }
}
