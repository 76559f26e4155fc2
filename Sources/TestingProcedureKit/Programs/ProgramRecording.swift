import Synchronization

/// The recording of a history while the tasks of a program execute.
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

  init(strandCount: Int) {
    state = Mutex(State(history: History(Array(repeating: [], count: strandCount))))
  }

  var history: History { state.withLock { $0.history } }

  /// Executes a command and records the call, also as a note.
  func record(
    _ command: Specification.Command, of strand: Int, in env: ExplorationEnvironment,
    execute: () async throws -> Specification.Response
  ) async throws {
    let begin = state.withLock { $0.tick() }
    let response = try await execute()
    let call = state.withLock { state in
      let call = History.Call(command, response, during: begin...state.tick())
      state.history.strands[strand].append(call)
      return call
    }
    env.note("\(begin)–\(call.interval.upperBound) task \(strand): \(call.text)")
  }
}
