import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// The options and inputs on the command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case makeThumbnails, printGraph, printHelp
  }

  static let jobLimit = 256

  var action = Action.makeThumbnails

  /// The files and directories to read. If the list is empty, the photograph that comes with the example is used.
  var inputs: [SystemText] = []

  /// The sizes of the resulting pictures, without duplicates. A size is the length of the longer side, in pixels.
  var sizes = [64, 128, 256]

  /// The directory to write to.
  var output: SystemText = "kittens"

  /// The maximum number of steps that can execute simultaneously.
  var jobs = ProcessInfo.processInfo.activeProcessorCount

  /// The file in which finished steps are recorded until the job is done.
  var journal: SystemText?

  /// The requested files that describe the job.
  var records = RecordFiles()

  init() {}

  /// Parses the arguments that follow the program's name. If an option is given more than once, the last one is used.
  ///
  /// - Throws: ``UsageError`` if the arguments are invalid.
  init(parsing arguments: some Sequence<SystemText>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        inputs += rest.map(\.expandingHome)
        return
      }
      guard argument.bytes.first == UInt8(ascii: "-"), argument != "-" else {
        if argument.isEmpty { throw .emptyInput }
        inputs.append(argument.expandingHome)
        continue
      }
      let (option, value) = argument.optionAndValue
      try apply(option: option.description, value: value, rest: &rest)
      if action == .printHelp { return }
    }
  }

  private mutating func apply(
    option: String, value: SystemText?, rest: inout ArraySlice<SystemText>
  ) throws(UsageError) {
    func requiredPath() throws(UsageError) -> SystemText {
      guard let given = value ?? rest.popFirst(), !given.isEmpty else { throw .missingValue(option: option) }
      return given.expandingHome
    }
    func requiredString() throws(UsageError) -> String {
      let given = try requiredPath()
      guard let string = given.string else { throw .notUTF8(option: option, given: given) }
      return string
    }
    func noValue() throws(UsageError) {
      if value != nil { throw .unexpectedValue(option: option) }
    }

    switch option {
    case "--sizes": sizes = try Self.sizes(in: requiredString())
    case "--output": output = try requiredPath()
    case "--jobs": jobs = try Self.number(requiredString(), in: 1...Self.jobLimit, option: option)
    case "--journal": journal = try requiredPath()
    case "--trace": records.trace = try requiredPath()
    case "--timeline": records.timeline = try requiredPath()
    case "--report": records.report = try requiredPath()
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
