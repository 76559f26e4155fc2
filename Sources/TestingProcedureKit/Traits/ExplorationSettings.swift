/// The settings for the explorations in a test run. The settings are read from environment variables.
struct ExplorationSettings: Sendable {
  /// The environment variables. `ExploredTrait` documents their values.
  enum Variable: String, CustomStringConvertible {
    case seed = "PROCEDUREKIT_SEED"
    case schedules = "PROCEDUREKIT_SCHEDULES"
    case seconds = "PROCEDUREKIT_SECONDS"
    case replay = "PROCEDUREKIT_REPLAY"
    case program = "PROCEDUREKIT_PROGRAM"
    case corpus = "PROCEDUREKIT_CORPUS"

    var description: String { rawValue }
  }

  /// The error for a variable with a malformed value.
  struct Malformed: Error, CustomStringConvertible {
    var variable: Variable
    var value: String
    var expected: String

    var description: String {
      "\(variable) is \"\(value)\", which is not \(expected). Correct or unset the environment variable."
    }
  }

  private(set) var seed: UInt64?
  private(set) var schedules: Int?
  private(set) var duration: Duration?
  private(set) var replay: String?
  /// The only generated program to explore; `nil` if all programs are explored.
  private(set) var program: GeneratedProgram?
  private(set) var corpus: ExplorationCorpus?

  /// Reads the settings. An empty value is treated as unset.
  ///
  /// - Throws: `Malformed` if a variable has a malformed value.
  init(environment: [String: String]) throws {
    func value(_ variable: Variable) -> String? {
      environment[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 }
    }
    func number<Value: LosslessStringConvertible & Comparable & ExpressibleByIntegerLiteral>(
      _ variable: Variable, _ expected: String
    ) throws -> Value? {
      guard let text = value(variable) else { return nil }
      guard let number = Value(text), number > 0 else {
        throw Malformed(variable: variable, value: text, expected: expected)
      }
      return number
    }
    if let text = value(.seed) {
      guard let number = text == "random" ? .random(in: .min ... .max) : UInt64(text) else {
        throw Malformed(variable: .seed, value: text, expected: "a non-negative integer or \"random\"")
      }
      seed = number
    }
    schedules = try number(.schedules, "a whole number greater than 0")
    let seconds: Double? = try number(.seconds, "a number greater than 0")
    duration = seconds.map { .seconds($0) }
    replay = value(.replay)
    if let text = value(.program) {
      guard let known = GeneratedProgram(text) else {
        throw Malformed(
          variable: .program, value: text, expected: "a seed and a non-negative number, such as \"7:12\"")
      }
      program = known
    }
    corpus = value(.corpus).map { ExplorationCorpus(path: $0) }
  }

  /// Returns `explorer` with the settings applied. For a replay, only the strategy is changed, because a replay string contains its own
  /// seed and describes a single schedule.
  func applied(to explorer: ScheduleExplorer) -> ScheduleExplorer {
    var explorer = explorer
    if let replay {
      explorer.strategy = .replay(replay)
      return explorer
    }
    explorer.seed = seed ?? explorer.seed
    if let schedules {
      explorer.schedules = schedules
      explorer.duration = nil
    }
    if let duration {
      explorer.schedules = .max
      explorer.duration = duration
    }
    return explorer
  }
}
