import Foundation

/// The command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case crawl, demonstrate, printHelp
  }

  var action = Action.crawl
  /// Addresses, and files with addresses.
  var inputs: [String] = []
  /// The folder for the pages; `nil` for the default.
  var output: String?
  var limits = Limits()

  /// Reads the arguments that follow the program's name; of an option that is given twice, the last counts.
  ///
  /// - Throws: ``UsageError``.
  init(parsing arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("-"), argument != "-" else {
        inputs.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      switch parts[0] {
      case "--help", "-h":
        action = .printHelp
        return
      case "--demo":
        action = .demonstrate
        // The server is this program's own, and waits for nothing in vain.
        (limits.rate, limits.timeout) = (100, 3)
      default:
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
          throw UsageError("\(parts[0]) needs a value: see 'crawler --help'")
        }
        try apply(option: parts[0], value)
      }
    }
    if action == .crawl, inputs.isEmpty {
      throw UsageError("nothing to download: name addresses, a file with addresses, or --demo; see 'crawler --help'")
    }
  }

  private mutating func apply(option: String, _ value: String) throws(UsageError) {
    switch option {
    case "--output":
      if value.isEmpty { throw UsageError("--output: name a folder") }
      output = value
    case "--jobs": limits.jobs = try Self.number(value, in: 1...256, option)
    case "--per-host": limits.perHost = try Self.number(value, in: 1...256, option)
    case "--rate": limits.rate = try Self.number(value, in: 1...10_000, option)
    case "--timeout": limits.timeout = try Self.number(value, in: 1...86_400, option)
    case "--deadline": limits.deadline = try Self.number(value, in: 1...1_000_000, option)
    case "--attempts": limits.attempts = try Self.number(value, in: 1...100, option)
    default: throw UsageError("there is no option \(option): see 'crawler --help'")
    }
  }

  private static func number(_ text: String, in range: ClosedRange<Int>, _ option: String) throws(UsageError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("\(option): '\(text)' is no whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
