import ProcedureKit
import ProcedureKitFoundation

/// The options and inputs on the command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case crawl, demonstrate, printHelp
  }

  var action = Action.crawl
  /// Addresses, and files that contain addresses.
  var inputs: [SystemText] = []
  /// The folder for the pages; `nil` for the default folder.
  var output: String?
  var limits = Limits()

  /// Parses the arguments that follow the program's name. If an option is given more than once, the last one is used.
  ///
  /// - Throws: ``UsageError`` if the arguments are invalid.
  init(parsing arguments: some Sequence<SystemText>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      guard argument.bytes.first == UInt8(ascii: "-"), argument != "-" else {
        inputs.append(argument.expandingHome)
        continue
      }
      let (option, given) = argument.optionAndValue
      switch option {
      case "--help", "-h":
        action = .printHelp
        return
      case "--demo":
        action = .demonstrate
        // The server is part of this program, so longer waits are not necessary.
        (limits.rate, limits.timeout) = (100, 3)
      default:
        guard let value = given ?? rest.popFirst() else {
          throw UsageError("\(option) needs a value; see 'crawler --help'")
        }
        guard let string = value.expandingHome.string else { throw UsageError("\(option): '\(value)' is not UTF-8") }
        try apply(option: option.description, string)
      }
    }
    if action == .crawl, inputs.isEmpty {
      throw UsageError("nothing to download. Pass addresses, a file with addresses, or --demo; see 'crawler --help'")
    }
  }

  private mutating func apply(option: String, _ value: String) throws(UsageError) {
    switch option {
    case "--output":
      if value.isEmpty { throw UsageError("--output needs the name of a folder") }
      output = value
    case "--jobs": limits.jobs = try Self.number(value, in: 1...256, option)
    case "--per-host": limits.perHost = try Self.number(value, in: 1...256, option)
    case "--rate": limits.rate = try Self.number(value, in: 1...10_000, option)
    case "--timeout": limits.timeout = try Self.number(value, in: 1...86_400, option)
    case "--deadline": limits.deadline = try Self.number(value, in: 1...1_000_000, option)
    case "--attempts": limits.attempts = try Self.number(value, in: 1...100, option)
    default: throw UsageError("unknown option \(option); see 'crawler --help'")
    }
  }

  private static func number(_ text: String, in range: ClosedRange<Int>, _ option: String) throws(UsageError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw UsageError("\(option): '\(text)' is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
