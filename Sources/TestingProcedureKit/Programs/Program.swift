/// A concurrent program, which consists of sequences of commands that tasks execute concurrently.
public struct Program<Command: Sendable>: Sendable, CustomStringConvertible {
  /// The commands of each task, in order.
  public var tasks: [[Command]]

  /// Creates a program with the commands of each task.
  public init(_ tasks: [[Command]]) {
    self.tasks = tasks
  }

  /// The number of commands in all tasks.
  public var commandCount: Int { tasks.reduce(0) { $0 + $1.count } }

  /// The commands of the program, with one line for each task.
  public var description: String {
    tasks.enumerated()
      .map { "task \($0): \($1.map { "\($0)" }.joined(separator: ", "))" }
      .joined(separator: "\n")
  }
}

extension Program {
  /// Creates a random program with up to `taskLimit` tasks. Each task has up to `commandLimit` commands.
  init(
    taskLimit: Int, commandLimit: Int, using random: inout SeededGenerator,
    makeCommand: (inout SeededGenerator) -> Command
  ) {
    let taskCount = 1 + random.below(taskLimit)
    tasks = (0..<taskCount).map { _ in
      (0..<1 + random.below(commandLimit)).map { _ in makeCommand(&random) }
    }
  }
}

/// The exploration seed and the number that together identify a generated program. The description has the form `seed:number`.
struct GeneratedProgram: Sendable, Equatable, LosslessStringConvertible {
  var seed: UInt64
  var number: Int

  init(seed: UInt64, number: Int) {
    (self.seed, self.number) = (seed, number)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let seed = UInt64(parts[0]), let number = Int(parts[1]), number >= 0 else { return nil }
    self.init(seed: seed, number: number)
  }

  var description: String { "\(seed):\(number)" }
}

/// A failing program and its failing schedule. If the program was generated, it has been simplified as far as possible.
public struct ProgramFailure<Command: Sendable>: Error, CustomStringConvertible {
  /// The number of the generated program, starting at `0`; `nil` for a program that was not generated.
  public var number: Int?

  /// The seed of the programs and schedules.
  public var seed: UInt64

  /// The simplest failing program found; for a program that was not generated, the program itself.
  public var program: Program<Command>

  /// The number of commands in the program as it was generated.
  public var originalCommandCount: Int

  /// The failing schedule of `program`. Its notes contain the history, with one line for each call that ended.
  public var failure: ExplorationFailure

  /// A report that begins with one sentence and the program, and continues with the failing schedule. For a generated program, the last
  /// line shows the environment variable that repeats its exploration.
  public var description: String {
    let size = program.commandCount.counting("command")
    let lines = program.description.split(separator: "\n").map { "  \($0)" }
    let origin = number.map {
      "  found as program \($0) of seed \(seed), with \(originalCommandCount.counting("command"))"
    }
    let repetition = number.map {
      "  repeat: \(ExplorationSettings.Variable.program)='\(GeneratedProgram(seed: seed, number: $0))' swift test"
    }
    let title = failure.summary(of: "a program of \(size) and an order of its tasks")
    return (["\(title):"] + lines + failure.details + [origin, repetition].compactMap(\.self)).joined(separator: "\n")
  }
}
