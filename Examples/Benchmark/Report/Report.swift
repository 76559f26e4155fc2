import Foundation

/// What was measured, and which targets are met.
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
    let measure: String
    let results: [Result]
  }

  struct Verdict: Encodable, Sendable {
    let target: String
    let workload: String
    let contestant: String
    /// `nil` for a number that is compared as it is.
    let baseline: String?
    let value: Double
    let limit: Double
    let isMet: Bool
  }

  let samples: Int
  private(set) var measurements: [Measurement] = []
  private(set) var verdicts: [Verdict] = []

  init(samples: Int) {
    self.samples = samples
  }

  mutating func append(_ measurement: Measurement) {
    measurements.append(measurement)
  }

  /// Compares what was measured with what is to be.
  mutating func judge(_ targets: [Target]) {
    verdicts = targets.flatMap { target in
      target.comparisons.compactMap { comparison in
        let value = measurements.lazy.compactMap { comparison.value(in: $0) }.first
        return value.map { Verdict(target.id, comparison, $0) }
      }
    }
  }

  /// The targets that are missed, and by how much.
  var missed: [String] {
    verdicts.filter { !$0.isMet }.map {
      "\($0.target) (\($0.workload) \($0.contestant): \($0.value.brief), at most \($0.limit.brief))"
    }
  }

  /// Everything, for machines.
  ///
  /// - Throws: What the encoder throws.
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
    title = measurement.workload.title(units: measurement.units)
    units = measurement.units
    measure = measurement.workload.countsBytes ? "bytes" : "nanoseconds"
    results = measurement.results.map { result in
      Result(
        contestant: "\(result.contestant)", median: result.sample.median, spread: result.sample.spread,
        samples: result.sample.values)
    }
  }
}

extension Report.Verdict {
  fileprivate init(_ target: String, _ comparison: Target.Comparison, _ value: Double) {
    self.target = target
    workload = comparison.workload
    contestant = "\(comparison.contestant)"
    baseline = comparison.baseline.map { "\($0)" }
    self.value = value
    limit = comparison.limit
    isMet = value <= comparison.limit
  }
}
