/// The options and names of the command line.
struct Arguments: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    case measure
    case printHelp
    /// Measure the memory of waiting work, in this process; used when the program starts itself.
    case fill(Store, units: Int)
    /// Serve N1 and N2; used when the program starts itself.
    case serve
  }

  var action = Action.measure

  /// The workloads and targets to measure; if empty, all of them.
  var names: [String] = []

  /// The number of measurements of each contestant.
  var samples = 9

  /// The number of units of work; `nil` for each workload's own number.
  var units: Int?

  var printsJSON = false

  /// Whether a missed target is a failure, unless it is excused.
  var checks = false

  /// Whether long workloads are measured without being named.
  var includesLong = false

  init() {}

  /// Reads the arguments after the program's name. If an option is given twice, the last one counts.
  ///
  /// - Throws: ``UsageError``.
  init(parsing arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--samples": samples = try Self.number(argument, &rest)
      case "--units": units = try Self.number(argument, &rest)
      case "--json": printsJSON = true
      case "--check": checks = true
      case "--long": includesLong = true
      case "--fill": action = .fill(try Self.store(&rest), units: try Self.number(argument, &rest))
      case "--serve": action = .serve
      case "--help", "-h":
        action = .printHelp
        return
      case _ where argument.hasPrefix("-"): throw .unknownOption(argument)
      default: names.append(try Self.name(argument))
      }
    }
  }

  private static func number(_ option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> Int {
    guard let text = rest.popFirst() else { throw .missingValue(option: option) }
    guard let number = Int(text), number >= 1 else { throw .badNumber(option: option, given: text) }
    return number
  }

  private static func store(_ rest: inout ArraySlice<String>) throws(UsageError) -> Store {
    guard let name = rest.popFirst() else { throw .missingValue(option: "--fill") }
    guard let store = Store(rawValue: name) else { throw .unknownStore(name) }
    return store
  }

  private static func name(_ text: String) throws(UsageError) -> String {
    let name = text.uppercased()
    guard Selection.names.contains(name) else { throw .unknownName(text) }
    return name
  }
}
