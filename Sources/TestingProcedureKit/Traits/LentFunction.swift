internal import Synchronization

/// A function that an exploration may call until the end of the loan.
///
/// The explorer's own task lets go of the body of an exploration a moment after the exploration has ended. Only the
/// loan keeps the function, so that nothing of the function is left after `end`.
final class LentFunction: Sendable {
  typealias Function = @Sendable @concurrent () async throws -> Void

  private struct State {
    var function: Function?
    var unfinishedCalls = 0
  }

  private let state: Mutex<State>

  init(_ function: @escaping Function) {
    state = Mutex(State(function: function))
  }

  /// Calls the function.
  ///
  /// - Throws: The error of the function; `CancellationError` after the end of the loan.
  func call() async throws {
    let function = state.withLock { state in
      state.unfinishedCalls += state.function == nil ? 0 : 1
      return state.function
    }
    guard let function else { throw CancellationError() }
    defer { state.withLock { $0.unfinishedCalls -= 1 } }
    try await function()
  }

  /// Ends the loan. A call that has not ended ends the process, with `report`.
  func end(orDieWith report: @autoclosure () -> String) {
    let unfinished = state.withLock { state in
      state.function = nil
      return state.unfinishedCalls
    }
    if unfinished > 0 { fatalError(report()) }
  }
}
