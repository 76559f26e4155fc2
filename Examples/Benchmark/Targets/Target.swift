/// A target for the cost of ProcedureKit.
struct Target: Sendable {
  let id: String
  let title: String
  let comparisons: [Comparison]

  /// Creates a target.
  ///
  /// - Parameters:
  ///   - id: The name of the target on the command line.
  ///   - title: A description of the work whose cost is limited.
  ///   - comparisons: The limits on the cost.
  init(_ id: String, _ title: String, _ comparisons: [Comparison]) {
    self.id = id
    self.title = title
    self.comparisons = comparisons
  }

  /// The title and the limits.
  var description: String {
    var limits: [String] = []
    for comparison in comparisons where limits.last != comparison.requirement { limits.append(comparison.requirement) }
    return "\(title): \(limits.joined(separator: ", "))"
  }
}

/// The limit for one of ProcedureKit's contestants in a workload.
struct Comparison: Sendable {
  private enum Measure: Sendable {
    case cost
    case ratio(Contestant.Role)
    case excess(Contestant.Role)
  }

  let workload: String
  let contestant: Contestant.Role
  /// The largest acceptable value.
  let limit: Double
  private let measure: Measure

  /// Returns a limit on the cost alone, in bytes or nanoseconds per unit.
  static func cost(_ workload: String, _ way: String, atMost limit: Double) -> Comparison {
    Comparison(workload: workload, contestant: .procedureKit(way), limit: limit, measure: .cost)
  }

  /// Returns a limit on the cost, expressed as a multiple of another contestant's cost.
  static func ratio(
    _ workload: String, _ way: String, to baseline: Contestant.Role = .floor, atMost limit: Double
  ) -> Comparison {
    Comparison(workload: workload, contestant: .procedureKit(way), limit: limit, measure: .ratio(baseline))
  }

  /// Returns a limit on the amount by which the cost exceeds another contestant's cost, in bytes or nanoseconds per unit.
  static func excess(
    _ workload: String, _ way: String, over baseline: Contestant.Role, atMost limit: Double
  ) -> Comparison {
    Comparison(workload: workload, contestant: .procedureKit(way), limit: limit, measure: .excess(baseline))
  }

  /// The contestant to compare against in the same round; `nil` if the limit applies to the cost alone.
  var baseline: Contestant.Role? {
    switch measure {
    case .cost: nil
    case .ratio(let baseline), .excess(let baseline): baseline
    }
  }

  /// The limit in words.
  var requirement: String {
    switch measure {
    case .cost: "≤ \(limit.brief)"
    case .ratio(let baseline): "≤ \(limit.brief) × \(baseline)"
    case .excess(let baseline): "≤ \(limit.brief) more than \(baseline)"
    }
  }

  /// Returns the value to compare with the limit; `nil` if it was not measured.
  func value(in measurement: Measurement) -> Double? {
    guard measurement.workload.id == workload, let sample = measurement[contestant] else { return nil }
    switch measure {
    case .cost: return sample.median
    case .ratio(let baseline): return measurement[baseline].map { sample.ratios(to: $0).median }
    case .excess(let baseline): return measurement[baseline].map { sample.differences(to: $0).median }
    }
  }
}
