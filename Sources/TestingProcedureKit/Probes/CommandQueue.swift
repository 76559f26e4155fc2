/// A queue of commands. Waiting tasks receive commands in the order in which the tasks arrived.
final class CommandQueue<Command: Sendable>: Sendable {
  private struct State {
    /// The commands that no task has received yet.
    var pending: [Result<Command, any Error>] = []
    /// The command that every task receives if `pending` is empty.
    var broadcast: Result<Command, any Error>?
    /// The numbers of the waiting tasks in order of arrival. Numbers of tasks that are no longer waiting are skipped.
    var line: [UInt64] = []

    mutating func take() -> Result<Command, any Error>? {
      pending.isEmpty ? broadcast : pending.removeFirst()
    }
  }

  private let list = WaiterList<State, Void, Command>(State())

  /// The number of waiting tasks.
  var waitingCount: Int { list.withLock { _, waiters in waiters.count } }

  /// Sends a command to the first waiting task. If no task is waiting, the next task that requests a command receives it.
  func send(_ command: Result<Command, any Error>) {
    list.withLock { state, waiters in
      while !state.line.isEmpty {
        if waiters.answer(state.line.removeFirst(), command) { return }
      }
      state.pending.append(command)
    }
  }

  /// Sends a command to all waiting tasks, and to every task that later requests a command while no other command is pending.
  func broadcast(_ command: Result<Command, any Error>) {
    list.withLock { state, waiters in
      state.broadcast = command
      state.line = []
      waiters.answer(command) { true }
    }
  }

  /// Waits for the next command.
  ///
  /// - Throws: The error that was sent instead of a command, if there was one; `CancellationError` if the task is already cancelled, or is
  ///   cancelled before a command arrives, unless `ignoringCancellation` is `true`.
  func next(ignoringCancellation: Bool) async throws -> Command {
    try await list.wait(
      isCancellable: !ignoringCancellation, request: { _ in }, immediateAnswer: { $0.take() },
      didArrive: { state, _, waiter in state.line.append(waiter.number) })
  }
}

/// A counter that lets tasks wait until it reaches a value.
final class AwaitableCounter: Sendable {
  private let list = WaiterList<Int, Int, Void>(0)

  var count: Int { list.withLock { count, _ in count } }

  /// Increments the count, and resumes the tasks that are waiting for the new count, in order of arrival.
  func increment() {
    list.withLock { count, waiters in
      count += 1
      let reached = count
      waiters.answer(.success(())) { $0 <= reached }
    }
  }

  /// Waits until the count is at least `count`.
  ///
  /// - Throws: `CancellationError` if the task is already cancelled, or is cancelled while it is waiting.
  func wait(for count: Int) async throws {
    try await list.wait(request: { _ in count }, immediateAnswer: { $0 >= count ? .success(()) : nil })
  }
}
