/// A target for the cost of ProcedureKit.
struct Target: Sendable {
  /// One measurement, relative to another or absolute.
  struct Comparison: Sendable {
    let workload: String
    let contestant: Contestant.Role
    /// The contestant by which it is divided, in the same round; `nil` for an absolute value.
    let baseline: Contestant.Role?
    /// The largest acceptable value.
    let limit: Double
    /// The multiple of the bare mechanism's cost that is acceptable if the limit is missed; `nil` if none is. A limit below the cost of
    /// the language itself cannot be required of the library.
    var mostTimesBare: Double?

    /// The bare mechanism for the same work, if it counts.
    var bare: Contestant.Role? {
      guard mostTimesBare != nil, case .procedureKit(let way) = contestant else { return nil }
      return .bare(way)
    }

    /// - Returns: `nil` if it was not measured.
    func value(in measurement: Measurement) -> Double? {
      guard let baseline else { return sample(in: measurement)?.median }
      return ratio(to: baseline, in: measurement)
    }

    /// - Returns: The multiple of the bare mechanism's cost; `nil` if it does not count or was not measured.
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
  ///   - id: Its name on the command line.
  ///   - title: Its description.
  ///   - limit: The largest acceptable ratio, or number of bytes.
  ///   - mostTimesBare: The multiple of the bare mechanism's cost that is acceptable instead; `nil` if none is.
  ///   - baseline: The contestant by which the measurement is divided; `nil` for none.
  ///   - pairs: The workloads, each with one of ProcedureKit's ways.
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
