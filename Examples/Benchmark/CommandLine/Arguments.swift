/// The options and names on the command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case measure
    case printHelp
    case countInstructions
    /// Executes a contestant in this process. The program starts other instances of itself to perform this action.
    case execute(Execution)
    /// Starts the server for N1 and N2. The program starts another instance of itself to perform this action.
    case serve
  }

  var action = Action.measure

  /// The workloads and targets to measure. If the list is empty, all of them are measured.
  var names: [String] = []

  /// The number of measurements of each contestant.
  var samples = fewestForCheck

  /// The minimum number of measurements needed to conclude that a target was missed.
  private static let fewestForCheck = 9

  /// The number of units of work; `nil` to use the number that each workload specifies.
  var units: Int?

  var printsJSON = false

  /// Whether a missed target is a failure.
  var checks = false

  /// Whether long workloads are measured even if the command line does not name them.
  var includesLong = false

  init() {}

  /// Parses the arguments that follow the program's name. If an option is given more than once, the last one is used.
  ///
  /// - Throws: ``UsageError`` if the arguments are invalid.
  init(parsing arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--samples": samples = try Self.number(argument, &rest)
      case "--units": units = try Self.number(argument, &rest)
      case "--json": printsJSON = true
      case "--check": checks = true
      case "--long": includesLong = true
      case "--execute":
        action = .execute(
          Execution(
            workload: try Self.text(argument, &rest), contestant: try Self.text(argument, &rest),
            units: try Self.number(argument, &rest), times: try Self.number(argument, &rest)))
      case "--instructions": action = .countInstructions
      case "--serve": action = .serve
      case "--help", "-h":
        action = .printHelp
        return
      case _ where argument.hasPrefix("-"): throw .unknownOption(argument)
      default: names.append(try Self.name(argument))
      }
    }
    if checks { samples = max(samples, Self.fewestForCheck) }
  }

  private static func text(_ option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
    guard let text = rest.popFirst() else { throw .missingValue(option: option) }
    return text
  }

  private static func number(_ option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
    let text = try text(option, &rest)
    guard let number = Int(text), number >= 1 else { throw .badNumber(option: option, given: text) }
    return number
  }

  private static func name(_ text: String) throws(UsageError) -> String {
    let name = text.uppercased()
    guard Selection.names.contains(name) else { throw .unknownName(text) }
    return name
  }
}
