/// The history of an execution of a program: each call with its response, and the order of beginnings and ends.
public struct ProgramHistory<Command: Sendable, Response: Sendable>: Sendable, CustomStringConvertible {
  /// An executed command.
  public struct Call: Sendable {
    /// The command.
    public var command: Command

    /// The response of the system.
    public var response: Response

    /// The time of the call in steps of the history: the call that began at `lowerBound` ended at `upperBound`. A call
    /// precedes another call if it ended before the other began.
    public var interval: ClosedRange<Int>

    /// The command and the response, which is left out if the type has only one.
    var text: String { Response.self == Void.self ? "\(command)" : "\(command) → \(response)" }

    /// Makes a call.
    public init(_ command: Command, _ response: Response, during interval: ClosedRange<Int>) {
      self.command = command
      self.response = response
      self.interval = interval
    }
  }

  /// The calls of each task, in order.
  public var strands: [[Call]]

  /// Makes a history from the calls of each task.
  public init(_ strands: [[Call]]) {
    self.strands = strands
  }

  /// All calls, in the order of their beginnings.
  public var calls: [Call] {
    strands.joined().sorted { $0.interval.lowerBound < $1.interval.lowerBound }
  }

  /// The history with one line for each call.
  public var description: String {
    strands.enumerated()
      .flatMap { number, calls in calls.map { (number, $0) } }
      .sorted { $0.1.interval.lowerBound < $1.1.interval.lowerBound }
      .map { "\($1.interval.lowerBound)–\($1.interval.upperBound) task \($0): \($1.text)" }
      .joined(separator: "\n")
  }
}
