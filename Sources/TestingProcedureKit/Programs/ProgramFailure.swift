/// A failing program, simplified, with its failing schedule.
public struct ProgramFailure<Command: Sendable>: Error, CustomStringConvertible {
  /// The number of the generated program, from `0`; `nil` for a given program.
  public var number: Int?

  /// The seed of the programs and schedules.
  public var seed: UInt64

  /// The simplest failing program found.
  public var program: Program<Command>

  /// The number of commands of the program as generated.
  public var originalCommandCount: Int

  /// The failing schedule of `program`. The notes are the history, with a line for each call that ended.
  public var failure: ExplorationFailure

  /// A report with the program and the failing schedule. For a generated program, the last line has the environment
  /// variable that repeats the exploration of the program.
  public var description: String {
    let title = number.map { "program \($0) failed (seed \(seed))" } ?? "the program failed (seed \(seed))"
    let size = "\(program.commandCount.counting("command")), \(originalCommandCount) when generated"
    let lines = program.description.split(separator: "\n").map { "  \($0)" }
    let repetition = number.map {
      "  repeat: \(ExplorationSettings.Variable.program)='\(GeneratedProgram(seed: seed, number: $0))' swift test"
    }
    return (["\(title): \(size)"] + lines + ["\(failure)"] + [repetition].compactMap(\.self)).joined(separator: "\n")
  }
}
