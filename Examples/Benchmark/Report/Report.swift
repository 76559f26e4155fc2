import Foundation

/// The measurements, and the verdicts on the targets.
struct Report: Encodable, Sendable {
  struct Entry: Encodable, Sendable {
    struct Result: Encodable, Sendable {
      let contestant: String
      let median: Double
      let spread: Double
      let samples: [Double]
    }

    let workload: String
    let title: String
    let units: Int
    /// The HTTP server that responded, for workloads that need one.
    let server: String?
    let measure: String
    let results: [Result]
  }

  struct Verdict: Encodable, Sendable {
    let target: String
    let workload: String
    let contestant: String
    /// The contestant to compare against; `nil` for an absolute limit.
    let baseline: String?
    let value: Double
    let limit: Double
    /// The limit in words.
    let requirement: String
    let isMet: Bool
  }

  let samples: Int
  private(set) var measurements: [Measurement] = []
  private(set) var verdicts: [Verdict] = []

  init(samples: Int) {
    self.samples = samples
  }

  /// Adds measurements. They are merged with earlier measurements of the same workload.
  mutating func append(_ measurement: Measurement) {
    if let index = measurements.firstIndex(where: { $0.workload.id == measurement.workload.id }) {
      measurements[index].append(measurement)
    } else {
      measurements.append(measurement)
    }
  }

  /// Compares the measurements with the targets.
  mutating func judge(_ targets: [Target]) {
    verdicts = targets.flatMap { target in
      target.comparisons.compactMap { comparison in
        measurements.lazy.compactMap { comparison.value(in: $0) }.first.map { Verdict(target.id, comparison, $0) }
      }
    }
  }

  /// Descriptions of the missed targets.
  var failures: [String] { verdicts.filter { !$0.isMet }.map(\.description) }

  /// The workloads in which targets are missed.
  var failedWorkloads: Set<String> { Set(verdicts.lazy.filter { !$0.isMet }.map(\.workload)) }

  /// The whole report as JSON.
  ///
  /// - Throws: Any error thrown by the encoder.
  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  private enum CodingKeys: CodingKey {
    case samples, measurements, verdicts
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(samples, forKey: .samples)
    try container.encode(measurements.map(Entry.init), forKey: .measurements)
    try container.encode(verdicts, forKey: .verdicts)
  }
}

extension Report.Entry {
  fileprivate init(_ measurement: Measurement) {
    workload = measurement.workload.id
    title = measurement.title
    units = measurement.units
    server = measurement.server
    measure = measurement.workload.countsBytes ? "bytes" : "nanoseconds"
    results = measurement.results.map { result in
      Result(
        contestant: "\(result.contestant)", median: result.sample.median, spread: result.sample.spread,
        samples: result.sample.values)
    }
  }
}

extension Report.Verdict {
  fileprivate init(_ target: String, _ comparison: Comparison, _ value: Double) {
    self.target = target
    workload = comparison.workload
    contestant = "\(comparison.contestant)"
    baseline = comparison.baseline.map { "\($0)" }
    self.value = value
    limit = comparison.limit
    requirement = comparison.requirement
    isMet = value <= comparison.limit
  }

  fileprivate var description: String {
    "\(target) (\(workload) \(contestant): \(value.brief), \(requirement))"
  }
}
