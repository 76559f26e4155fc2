import Foundation

/// A command line that cannot be followed.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String
}

/// What the command line asks for.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case run, printPlan, printGraph, printHelp
  }

  var action = Action.run
  /// The task file.
  var file = "tasks.json"
  /// The tasks to run, with what they need; none means all.
  var names: [String] = []
  /// How many tasks run at once.
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  /// Whether a failure leaves the tasks that do not need the failed task.
  var keepsGoing = false
  var trace: String?
  var report: String?

  init() {}

  /// Reads the arguments that follow the program's name.
  ///
  /// - Throws: ``UsageError``.
  init(parsing arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    var positions: [String] = []
    while let argument = rest.popFirst() {
      if argument == "--" {
        positions += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-" else {
        positions.append(argument)
        continue
      }
      if argument.hasPrefix("-j"), argument.count > 2 {
        jobs = try number("-j", String(argument.dropFirst(2)))
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      try apply(parts[0], parts.count == 2 ? parts[1] : nil, &rest)
      if action == .printHelp { return }
    }
    if let first = positions.first { file = first }
    names = Array(positions.dropFirst())
  }

  private mutating func apply(
    _ option: String, _ value: String?, _ rest: inout ArraySlice<String>
  ) throws(UsageError) {
    switch option {
    case "--jobs", "-j": jobs = try number(option, value ?? rest.popFirst())
    case "--trace": trace = try text(option, value ?? rest.popFirst())
    case "--report": report = try text(option, value ?? rest.popFirst())
    case _ where value != nil: throw UsageError(description: "\(option) takes no value, or does not exist")
    case "--keep-going", "-k": keepsGoing = true
    case "--dry-run", "-n": action = .printPlan
    case "--graph": action = .printGraph
    case "--help", "-h": action = .printHelp
    default: throw UsageError(description: "there is no option \(option): see 'taskrunner --help'")
    }
  }

  private func text(_ option: String, _ value: String?) throws(UsageError) -> String {
    guard let value, !value.isEmpty else { throw UsageError(description: "\(option) needs a value") }
    return value
  }

  private func number(_ option: String, _ value: String?) throws(UsageError) -> Int {
    let text = try text(option, value)
    guard let number = Int(text), (1...256).contains(number) else {
      throw UsageError(description: "\(option): '\(text)' is no whole number from 1 to 256")
    }
    return number
  }
}
