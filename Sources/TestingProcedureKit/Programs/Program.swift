/// A concurrent program: sequences of commands that tasks execute at the same time.
public struct Program<Command: Sendable>: Sendable, CustomStringConvertible {
  /// The commands of each task, in order.
  public var strands: [[Command]]

  /// Makes a program with the commands of each task.
  public init(_ strands: [[Command]]) {
    self.strands = strands
  }

  /// The number of commands in all strands.
  public var commandCount: Int { strands.reduce(0) { $0 + $1.count } }

  /// The program with one line for each task.
  public var description: String {
    strands.enumerated()
      .map { "task \($0): \($1.map { "\($0)" }.joined(separator: ", "))" }
      .joined(separator: "\n")
  }
}

extension Program {
  /// Makes a random program with up to `strandLimit` tasks of up to `commandLimit` commands.
  init(
    strandLimit: Int, commandLimit: Int, using random: inout SeededGenerator,
    makeCommand: (inout SeededGenerator) -> Command
  ) {
    let strandCount = 1 + random.below(strandLimit)
    strands = (0..<strandCount).map { _ in
      (0..<1 + random.below(commandLimit)).map { _ in makeCommand(&random) }
    }
  }
}
