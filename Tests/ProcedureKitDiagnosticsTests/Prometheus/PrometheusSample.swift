import Testing

/// A line of Prometheus's text format, which is parsed strictly.
struct PrometheusSample: Equatable {
  var name: String
  var labels: [String: String]
  var value: Double

  struct Failure: Error {
    let line: Substring
  }

  /// Reads a page, and checks that each metric has one help and one type before its samples, and that each series occurs once.
  static func read(_ page: String) throws -> [PrometheusSample] {
    #expect(page.hasSuffix("\n"))
    var samples: [PrometheusSample] = []
    var kinds: [String: String] = [:]
    var current = ""
    var series: Set<String> = []
    for line in page.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      if line.hasPrefix("# HELP ") {
        current = String(words[2])
        #expect(kinds[current] == nil)
        continue
      }
      if line.hasPrefix("# TYPE ") {
        #expect(words.count == 4 && words[2] == current && ["counter", "gauge", "histogram"].contains(words[3]))
        kinds[current] = String(words[3])
        continue
      }
      let sample = try PrometheusSample(line)
      let suffixes = kinds[current] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
      #expect(suffixes.contains { sample.name == current + $0 })
      #expect(kinds[current] != "counter" || current.hasSuffix("_total"))
      let labels = sample.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      #expect(series.insert(sample.name + labels.joined(separator: "\u{0}")).inserted, "twice: \(line)")
      samples.append(sample)
    }
    return samples
  }

  private init(_ line: Substring) throws {
    var rest = line
    func fail() -> Failure { Failure(line: line) }
    name = String(rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
    rest = rest.dropFirst(name.count)
    guard !name.isEmpty, rest.popFirst() == "{" else { throw fail() }
    labels = [:]
    while rest.first != "}" {
      if !labels.isEmpty, rest.popFirst() != "," { throw fail() }
      let label = String(rest.prefix { $0.isASCII && ($0.isLetter || $0 == "_") })
      rest = rest.dropFirst(label.count)
      guard !label.isEmpty, rest.popFirst() == "=", rest.popFirst() == "\"" else { throw fail() }
      var value = String.UnicodeScalarView()
      var scalars = rest.unicodeScalars
      scan: while true {
        guard let scalar = scalars.popFirst() else { throw fail() }
        switch scalar {
        case "\"": break scan
        case "\\":
          guard let escaped = scalars.popFirst(), ["\\", "\"", "n"].contains(escaped) else { throw fail() }
          value.append(escaped == "n" ? "\n" : escaped)
        default: value.append(scalar)
        }
      }
      rest = Substring(scalars)
      guard labels.updateValue(String(value), forKey: label) == nil else { throw fail() }
    }
    guard rest.hasPrefix("} ") else { throw fail() }
    let number = rest.dropFirst(2)
    guard let value = number == "+Inf" ? .infinity : Double(number) else { throw fail() }
    self.value = value
  }
}
