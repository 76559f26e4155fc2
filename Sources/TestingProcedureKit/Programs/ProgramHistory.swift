import Synchronization

/// The history of a program's execution. It contains each call that ended, with its response, and the order in which the calls began and
/// ended.
public struct ProgramHistory<Command: Sendable, Response: Sendable>: Sendable, CustomStringConvertible {
  /// An executed command.
  public struct Call: Sendable {
    /// The command that the task executed.
    public var command: Command

    /// The system's response to the command.
    public var response: Response

    /// The beginning (`lowerBound`) and the end (`upperBound`) of the call. The beginnings and ends of all calls are numbered in order,
    /// starting at `0`. A call precedes another call if it ended before the other one began.
    public var interval: ClosedRange<Int>

    /// The command and the response. The response is omitted if its type is `Void`.
    var text: String { Response.self == Void.self ? "\(command)" : "\(command) → \(response)" }

    /// Creates a call.
    public init(_ command: Command, _ response: Response, during interval: ClosedRange<Int>) {
      self.command = command
      self.response = response
      self.interval = interval
    }
  }

  /// The calls that each task made, in order.
  public var tasks: [[Call]]

  /// Creates a history from the calls that each task made.
  public init(_ tasks: [[Call]]) {
    self.tasks = tasks
  }

  /// All calls, in the order in which they began.
  public var calls: [Call] {
    tasks.joined().sorted { $0.interval.lowerBound < $1.interval.lowerBound }
  }

  /// The calls in the history, one per line.
  public var description: String {
    tasks.enumerated()
      .flatMap { number, calls in calls.map { (number, $0) } }
      .sorted { $0.1.interval.lowerBound < $1.1.interval.lowerBound }
      .map { "\($1.interval.lowerBound)–\($1.interval.upperBound) task \($0): \($1.text)" }
      .joined(separator: "\n")
  }
}

/// A recorder that records the history of a program while the program's tasks execute.
final class ProgramRecording<Specification: ProgramSpecification>: Sendable {
  typealias History = ProgramHistory<Specification.Command, Specification.Response>

  private struct State {
    var history: History
    var time = 0

    mutating func tick() -> Int {
      defer { time += 1 }
      return time
    }
  }

  private let state: Mutex<State>

  init(taskCount: Int) {
    state = Mutex(State(history: History(Array(repeating: [], count: taskCount))))
  }

  var history: History { state.withLock { $0.history } }

  /// Executes a command and records the call in the history and as a note.
  func record(
    _ command: Specification.Command, of task: Int, in env: ExplorationEnvironment,
    execute: () async throws -> Specification.Response
  ) async throws {
    let begin = state.withLock { $0.tick() }
    let response = try await execute()
    let call = state.withLock { state in
      let call = History.Call(command, response, during: begin...state.tick())
      state.history.tasks[task].append(call)
      return call
    }
    env.note("\(begin)–\(call.interval.upperBound) task \(task): \(call.text)")
  }
}

/// A depth-first search that determines whether a history is linearizable (Wing and Gong, *Testing and Verifying Concurrent Objects*, JPDC
/// 1993). The search visits each state at most once.
struct LinearizationSearch<Specification: SequentialSpecification> {
  /// A search state. It contains the number of calls of each task that have been put in order, and the model's state after those calls.
  private struct State: Hashable {
    var positions: [Int]
    var model: Specification.Model
  }

  private let specification: Specification
  private let tasks: [[ProgramHistory<Specification.Command, Specification.Response>.Call]]
  private var visited: Set<State> = []

  init(
    _ specification: Specification, _ history: ProgramHistory<Specification.Command, Specification.Response>
  ) {
    self.specification = specification
    tasks = history.tasks
  }

  /// Returns whether there is an order of the calls that explains all responses.
  mutating func succeeds() -> Bool {
    var open = [State(positions: tasks.map { _ in 0 }, model: specification.makeModel())]
    while let state = open.popLast() {
      if isComplete(state) { return true }
      for next in successors(of: state) where visited.insert(next).inserted { open.append(next) }
    }
    return false
  }

  private func isComplete(_ state: State) -> Bool {
    zip(state.positions, tasks).allSatisfy { $0 == $1.count }
  }

  /// Returns the state after each possible next call. A call is possible if the model gives the recorded response, and if no other
  /// remaining call ended before the call began.
  private func successors(of state: State) -> [State] {
    let next = tasks.indices.filter { state.positions[$0] < tasks[$0].count }
    let firstEnd = next.map { tasks[$0][state.positions[$0]].interval.upperBound }.min() ?? 0
    return next.compactMap { task in
      let call = tasks[task][state.positions[task]]
      guard call.interval.lowerBound <= firstEnd else { return nil }
      var following = state
      following.positions[task] += 1
      let response = specification.respond(to: call.command, &following.model)
      return response == call.response ? following : nil
    }
  }
}
