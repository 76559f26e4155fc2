import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// An error in the command line.
struct UsageError: Error, Equatable, CustomStringConvertible {
  let description: String
}

/// The options and tasks on the command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case run, printPlan, printGraph, printHelp
  }

  var action = Action.run
  /// The task file.
  var file: SystemText = "tasks.json"
  /// The names of the tasks to run. The tasks that they need are also run. If the list is empty, all tasks are run.
  var names: [SystemText] = []
  /// The maximum number of tasks that can run simultaneously.
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  /// Whether the run continues after a task fails. Tasks that depend on the failed task do not run.
  var keepsGoing = false
  /// Whether the output of successful tasks is also printed.
  var isVerbose = false
  var trace: SystemText?
  var report: SystemText?

  init() {}

  /// Parses the arguments that follow the program's name.
  ///
  /// - Throws: ``UsageError`` if the arguments are invalid.
  init(parsing arguments: some Sequence<SystemText>) throws(UsageError) {
    var rest = Array(arguments)[...]
    var positions: [SystemText] = []
    while let argument = rest.popFirst() {
      if argument == "--" {
        positions += rest
        break
      }
      guard argument.bytes.first == UInt8(ascii: "-"), argument != "-" else {
        positions.append(argument)
        continue
      }
      if argument.bytes.starts(with: "-j".utf8), argument.bytes.count > 2 {
        jobs = try number("-j", SystemText(bytes: argument.bytes.dropFirst(2)))
        continue
      }
      let (option, value) = argument.optionAndValue
      try apply(option.description, value, &rest)
      if action == .printHelp { return }
    }
    if let first = positions.first { file = first.expandingHome }
    names = Array(positions.dropFirst())
  }

  private mutating func apply(
    _ option: String, _ value: SystemText?, _ rest: inout ArraySlice<SystemText>
  ) throws(UsageError) {
    switch option {
    case "--jobs", "-j": jobs = try number(option, value ?? rest.popFirst())
    case "--trace": trace = try text(option, value ?? rest.popFirst()).expandingHome
    case "--report": report = try text(option, value ?? rest.popFirst()).expandingHome
    case _ where value != nil: throw UsageError(description: "\(option) is unknown, or does not take a value")
    case "--keep-going", "-k": keepsGoing = true
    case "--verbose", "-v": isVerbose = true
    case "--dry-run", "-n": action = .printPlan
    case "--graph": action = .printGraph
    case "--help", "-h": action = .printHelp
    default: throw UsageError(description: "unknown option \(option); see 'taskrunner --help'")
    }
  }

  private func text(_ option: String, _ value: SystemText?) throws(UsageError) -> SystemText {
    guard let value, !value.isEmpty else { throw UsageError(description: "\(option) needs a value") }
    return value
  }

  private func number(_ option: String, _ value: SystemText?) throws(UsageError) -> Int {
    let text = try text(option, value)
    guard let number = Int(text.description), (1...256).contains(number) else {
      throw UsageError(description: "\(option): '\(text)' is not a whole number from 1 to 256")
    }
    return number
  }
}
