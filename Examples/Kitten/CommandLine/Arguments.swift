import Foundation

/// What the command line asks for.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case makeThumbnails, printGraph, printHelp
  }

  static let jobLimit = 256

  var action = Action.makeThumbnails

  /// Files and directories; none means the photograph that comes with the example.
  var inputs: [String] = []

  /// The longer sides of the pictures to make, in pixels, without duplicates.
  var sizes = [64, 128, 256]

  /// The directory to write to.
  var output = "kittens"

  /// How many steps may execute at once.
  var jobs = ProcessInfo.processInfo.activeProcessorCount

  /// The file that remembers finished steps until the job is done.
  var journal: String?

  /// The files that tell afterwards how the job went.
  var records = RecordFiles()

  init() {}

  /// Reads the arguments that follow the program's name; of an option that is given twice, the last counts.
  ///
  /// - Throws: ``UsageError``.
  init(parsing arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        inputs += rest
        return
      }
      guard argument.hasPrefix("-"), argument != "-" else {
        if argument.isEmpty { throw .emptyInput }
        inputs.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      try apply(option: parts[0], value: parts.count == 2 ? parts[1] : nil, rest: &rest)
      if action == .printHelp { return }
    }
  }

  private mutating func apply(
    option: String, value: String?, rest: inout ArraySlice<String>
  ) throws(UsageError) {
    func requiredValue() throws(UsageError) -> String {
      guard let given = value ?? rest.popFirst(), !given.isEmpty else { throw .missingValue(option: option) }
      return given
    }
    func noValue() throws(UsageError) {
      if value != nil { throw .unexpectedValue(option: option) }
    }

    switch option {
    case "--sizes": sizes = try Self.sizes(in: requiredValue())
    case "--output": output = try requiredValue()
    case "--jobs": jobs = try Self.number(requiredValue(), in: 1...Self.jobLimit, option: option)
    case "--journal": journal = try requiredValue()
    case "--trace": records.trace = try requiredValue()
    case "--timeline": records.timeline = try requiredValue()
    case "--report": records.report = try requiredValue()
    case "--graph":
      try noValue()
      action = .printGraph
    case "--help", "-h":
      try noValue()
      action = .printHelp
    default: throw .unknownOption(option)
    }
  }

  private static func sizes(in list: String) throws(UsageError) -> [Int] {
    var sizes: [Int] = []
    for item in list.split(separator: ",", omittingEmptySubsequences: false) {
      let size = try number(String(item), in: 1...Image.sizeLimit, option: "--sizes")
      if !sizes.contains(size) { sizes.append(size) }
    }
    return sizes
  }

  private static func number(
    _ text: String, in range: ClosedRange<Int>, option: String
  ) throws(UsageError) -> Int {
    guard let number = Int(text), range.contains(number) else {
      throw .badNumber(option: option, given: text, range: range)
    }
    return number
  }
}
