import ProcedureKit
public import ProcedureKitRemote

/// A source of the activities that are waiting in a task queue on a Temporal server.
public struct TemporalTaskSource: RemoteTaskSource {
  private let connection: TemporalConnection

  /// Creates a source.
  public init(_ connection: TemporalConnection) {
    self.connection = connection
  }

  /// Waits for an activity by long polling. Cancelling the caller ends the wait on the server, too.
  ///
  /// - Returns: The task.
  /// - Throws: An error from the server or the connection, after which the worker calls this function again; `CancellationError` if the
  ///   task is cancelled.
  public func nextTask() async throws -> (any RemoteTask)? {
    while true {
      let answer = try await connection.call("PollActivityTaskQueue", timeout: .seconds(70)) {
        $0.write(1, connection.namespace)
        $0.write(2) { $0.write(1, connection.taskQueue) }
        $0.write(3, connection.identity)
      }
      if answer.has(1) { return try TemporalTask(answer, connection) }
    }
  }
}
