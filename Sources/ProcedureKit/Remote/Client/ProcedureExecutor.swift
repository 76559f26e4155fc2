/// Executes calls elsewhere: in another process, on another machine, by a distributed engine.
///
/// An adapter for an engine implements the protocol for the side that calls, and ``RemoteTaskSource`` for the side that works.
public protocol ProcedureExecutor: Sendable {
  /// The largest number of bytes of an input or a value. Default: no limit.
  var payloadLimit: Int { get }

  /// Executes a call, at least once, and waits for the end.
  ///
  /// The same call can come again after ``RemoteError/Kind/connectionLost``, and has to find the execution of the first. A call with
  /// the key of an execution that is under way joins it, and a call with the key of a finished one gets the value.
  ///
  /// Cancelling the caller cancels the execution. The function returns when the execution has ended, at the latest after
  /// ``RemoteLimits/heartbeatTimeout``, with `CancellationError`.
  ///
  /// - Parameter call: The call.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` for an error of the procedure; ``RemoteError`` for an error of the engine; `CancellationError`.
  func execute(_ call: RemoteCall) async throws -> [UInt8]
}

extension ProcedureExecutor {
  /// No limit.
  public var payloadLimit: Int { .max }
}
