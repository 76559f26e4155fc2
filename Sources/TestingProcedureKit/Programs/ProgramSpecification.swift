/// A specification of random concurrent programs. It defines the commands, the system that executes them, and the condition that every
/// execution must meet.
///
/// ``explorePrograms(of:programs:seed:)`` generates programs from the specification and explores their schedules. If a sequential model
/// describes the system, conform to ``SequentialSpecification``, so that the explorer checks that every history is linearizable.
public protocol ProgramSpecification<Command, System, Response>: Sendable {
  /// A command of a program, with its arguments. Its description appears in reports.
  associatedtype Command: Sendable

  /// The system under test.
  associatedtype System: Sendable

  /// The result of a command.
  associatedtype Response: Sendable

  /// Creates a new system for one execution of a program.
  ///
  /// - Parameter env: The schedule's environment, which provides the clock and the executor.
  /// - Returns: The system.
  /// - Throws: Any error, in which case the schedule fails.
  func makeSystem(_ env: ExplorationEnvironment) async throws -> System

  /// Returns a random command. The same random numbers must give the same command.
  func makeCommand(using random: inout SeededGenerator) -> Command

  /// Executes a command. Several tasks call this function concurrently.
  ///
  /// In a random program, a command that waits for another command may wait forever, which is reported as a deadlock. Therefore, limit the
  /// wait with `env.clock`, and return a response that represents the timeout.
  ///
  /// - Throws: Any error, in which case the schedule fails. If an error is expected, return it as a response instead.
  func execute(_ command: Command, on system: System, _ env: ExplorationEnvironment) async throws -> Response

  /// Returns commands that are simpler than `command`, starting with the simplest. They are used to simplify a failing program. The default
  /// implementation returns an empty array.
  func simplerCommands(than command: Command) -> [Command]

  /// Checks an execution with `env.check` after all tasks have ended. The default implementation does nothing or, for a
  /// ``SequentialSpecification``, checks that the history is linearizable.
  ///
  /// - Throws: Any error, in which case the schedule fails.
  func check(
    _ history: ProgramHistory<Command, Response>, of system: System, _ env: ExplorationEnvironment
  ) async throws
}

extension ProgramSpecification {
  /// Returns an empty array, so programs are simplified only by removing tasks and commands.
  public func simplerCommands(than command: Command) -> [Command] { [] }

  /// Does nothing.
  public func check(
    _ history: ProgramHistory<Command, Response>, of system: System, _ env: ExplorationEnvironment
  ) async throws {}
}

/// A specification with a sequential model that predicts the response to each command.
///
/// A history is linearizable if its commands can be put in an order in which the model gives the recorded responses. In this order, each
/// command that ended before another one began must precede that command (Herlihy and Wing, *Linearizability*, TOPLAS 1990).
public protocol SequentialSpecification: ProgramSpecification where Response: Equatable {
  /// The model's state, which must have value semantics.
  associatedtype Model: Hashable & Sendable

  /// Returns the model's state for a new system.
  func makeModel() -> Model

  /// Applies `command` to the model.
  ///
  /// - Returns: The response that the system must give.
  func respond(to command: Command, _ model: inout Model) -> Response
}

extension SequentialSpecification {
  /// Checks that the history is linearizable.
  public func check(
    _ history: ProgramHistory<Command, Response>, of system: System, _ env: ExplorationEnvironment
  ) async throws {
    env.check(isLinearizable(history), "no order of the commands explains the responses")
  }

  /// Returns whether there is an order of the commands that explains all responses in `history`.
  ///
  /// In the worst case, the time is proportional to the product of the tasks' lengths, multiplied by the number of states that the model
  /// can reach.
  public func isLinearizable(_ history: ProgramHistory<Command, Response>) -> Bool {
    var search = LinearizationSearch(self, history)
    return search.succeeds()
  }
}
