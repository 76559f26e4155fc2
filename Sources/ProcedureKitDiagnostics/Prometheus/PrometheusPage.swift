import ProcedureKit

/// A builder for a page in the Prometheus text format. A page consists of metrics and their samples.
struct PrometheusPage {
  /// The type of a metric.
  enum Kind: String {
    case counter, gauge, histogram
  }

  typealias Label = (name: String, value: String)

  private(set) var text = ""
  private var metric = ""

  /// Begins a metric. All samples that are added before the next call to this function belong to the metric.
  mutating func begin(_ metric: String, _ kind: Kind, _ help: String) {
    self.metric = metric
    text += "# HELP \(metric) \(help)\n# TYPE \(metric) \(kind.rawValue)\n"
  }

  /// Adds a sample.
  mutating func add(_ value: Double, _ labels: [Label], suffix: String = "") {
    let list = labels.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ",")
    text += "\(metric)\(suffix){\(list)} \(Self.number(value))\n"
  }

  /// Adds the samples of a histogram. The count for each bucket includes the counts for all smaller buckets.
  mutating func add(_ histogram: DurationHistogram, _ labels: [Label]) {
    var count = 0
    for (index, inBucket) in histogram.counts.enumerated() {
      count += inBucket
      let bound = index < DurationHistogram.bounds.count ? DurationHistogram.bounds[index].inSeconds : .infinity
      add(Double(count), labels + [("le", Self.number(bound))], suffix: "_bucket")
    }
    add(histogram.sum.inSeconds, labels, suffix: "_sum")
    add(Double(count), labels, suffix: "_count")
  }

  private static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    return value == value.rounded() && value.magnitude < 1e15 ? String(Int64(value)) : String(value)
  }

  private static func escape(_ value: String) -> String {
    value.replacingScalars { scalar in
      switch scalar {
      case "\\": "\\\\"
      case "\"": "\\\""
      case "\n": "\\n"
      default: nil
      }
    }
  }
}
