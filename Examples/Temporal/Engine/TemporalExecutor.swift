import ProcedureKit
public import ProcedureKitRemote

/// An executor that executes calls as standalone activities on a Temporal server.
///
/// The key of a call is the ID of its activity. A call with the key of a running activity waits for that activity. A call with the key of a
/// completed activity receives its result, even in another process or after a restart of the server. The server keeps a result for a day.
/// An activity that ended without a result is started again. Cancellation ends the activity for all callers that are waiting for it.
public struct TemporalExecutor: ProcedureExecutor {
  /// The maximum size of an input or a result, in bytes.
  public var payloadLimit: Int { TemporalConnection.payloadLimit }

  private let connection: TemporalConnection

  /// Creates an executor.
  public init(_ connection: TemporalConnection) {
    self.connection = connection
  }

  /// Starts an activity, or finds an existing one, and waits for its result. Cancelling the caller cancels the activity.
  ///
  /// - Parameter call: The call to execute.
  /// - Returns: The encoded value.
  /// - Throws: `RemoteFailure` if the procedure fails; `RemoteError` if the call cannot be completed; `CancellationError` if the caller or
  ///   the activity is cancelled.
  public func execute(_ call: RemoteCall) async throws -> [UInt8] {
    guard call.key.description.utf8.count <= 1_000 else {
      throw RemoteError(.refused, procedure: call.procedure, reason: "the key of the call is longer than 1000 bytes")
    }
    do {
      let run = try await start(call)
      return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await reportProgress(call, run) }
        defer { group.cancelAll() }
        return try await outcome(of: call, run)
      }
    } catch is CancellationError {
      // The activity is cancelled in a detached task, since a cancelled task could not send requests. The task ends within the heartbeat
      // timeout.
      await Task.detached { await cancel(call) }.value
      throw CancellationError()
    } catch {
      throw connection.error(error, of: call.procedure)
    }
  }

  /// Starts the activity, or finds an existing one, and returns the ID of its run.
  private func start(_ call: RemoteCall) async throws -> String {
    let limits = call.limits
    do {
      let answer = try await connection.call("StartActivityExecution") {
        $0.write(1, connection.namespace)
        $0.write(2, connection.identity)
        $0.write(3, call.id)
        $0.write(4, call.key.description)
        $0.write(5) { $0.write(1, call.procedure.description) }
        $0.write(6) { $0.write(1, connection.taskQueue) }
        $0.write(7, limits.activityDuration)
        $0.write(8, limits.startTimeout.bounded)
        $0.write(9, limits.executionTimeout.bounded)
        $0.write(10, limits.heartbeatTimeout.bounded)
        $0.write(11) {
          $0.write(1, .milliseconds(100))
          $0.write(2, 1.0)
          $0.write(4, limits.attempts)
        }
        $0.writePayloads(12, call.input)
        // These policies reuse an ID only after a failure, and find an activity that is running.
        $0.write(13, 2)
        $0.write(14, 2)
      }
      let run = answer.string(1)
      if !answer.has(2) { try await checkInput(of: call, run) }
      return run
    } catch let error as GRPCError where error.status == GRPCError.alreadyExists {
      try await checkInput(of: call, "")
      return ""
    }
  }

  /// Checks that an existing activity has the same procedure and input as the call, since the server does not compare them.
  private func checkInput(of call: RemoteCall, _ run: String) async throws {
    let answer = try await describe(call, run) { $0.write(4, true) }
    let type = try answer.message(2).message(3).string(1)
    guard try type == call.procedure.description && answer.payload(3) == call.input else {
      throw RemoteError(
        .keyReused, procedure: call.procedure,
        reason: "the key \(call.key) was already used to call \"\(type)\", possibly with different input")
    }
  }

  private func describe(
    _ call: RemoteCall, _ run: String, timeout: Duration = .seconds(10), _ more: (inout MessageWriter) -> Void
  ) async throws -> MessageReader {
    try await connection.call("DescribeActivityExecution", timeout: timeout) {
      $0.write(1, connection.namespace)
      $0.write(2, call.key.description)
      $0.write(3, run)
      more(&$0)
    }
  }

  /// Waits for the result of an activity. If the connection is lost, the request is retried until the call's `connectionTimeout` has
  /// passed.
  private func outcome(of call: RemoteCall, _ run: String) async throws -> [UInt8] {
    while true {
      // The server responds about a second before the timeout. If the timeout were below two seconds, the server would not wait at all.
      let answer = try await connection.call(
        "PollActivityExecution", timeout: .seconds(30), patience: call.limits.connectionTimeout
      ) {
        $0.write(1, connection.namespace)
        $0.write(2, call.key.description)
        $0.write(3, run)
      }
      if answer.isEmpty { continue }
      let outcome = try answer.message(2)
      guard !outcome.has(2) else { throw try TemporalFailure(outcome.message(2)).error(of: call) }
      return try outcome.payload(1)
    }
  }

  /// Reports progress until the task is cancelled. Errors are ignored, since progress is optional.
  private func reportProgress(_ call: RemoteCall, _ run: String) async throws {
    var token: [UInt8] = []
    while true {
      if let answer = try? await describe(
        call, run, timeout: .seconds(30),
        { message in
          message.write(6, token)
          message.write(7, true)
        })
      {
        token = answer.bytes(5)
        if let progress = try answer.message(2).progress(12) { call.onProgress(progress) }
      }
      try await Task.sleep(for: .milliseconds(500))
    }
  }

  /// Cancels the activity, and waits until it ends or the heartbeat timeout has passed.
  private func cancel(_ call: RemoteCall) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        _ = try? await connection.call("RequestCancelActivityExecution", patience: call.limits.heartbeatTimeout) {
          $0.write(1, connection.namespace)
          $0.write(2, call.key.description)
          $0.write(4, connection.identity)
          $0.write(5, call.id)
          $0.write(6, "the caller was cancelled")
        }
        _ = try? await outcome(of: call, "")
      }
      group.addTask { try? await Task.sleep(for: call.limits.heartbeatTimeout.bounded) }
      await group.next()
      group.cancelAll()
    }
  }
}

extension RemoteLimits {
  /// The maximum number of attempts. It is at least 1, because the server interprets 0 as no limit.
  var attempts: Int { min(max(deliveries, 1), Int(Int32.max)) }

  /// The time limit for the activity across all attempts.
  var activityDuration: Duration {
    let attempt = startTimeout.bounded + executionTimeout.bounded
    // Before it is limited to what the server accepts, the product can be a million times a hundred years, which is within the range of a
    // duration.
    return (attempt * min(attempts, 1_000_000)).bounded
  }
}

extension Duration {
  /// The duration, limited to a hundred years. The server and the clock add it to the current time, and the sum must not overflow.
  var bounded: Duration { min(max(self, .zero), .seconds(3_155_760_000)) }
}
