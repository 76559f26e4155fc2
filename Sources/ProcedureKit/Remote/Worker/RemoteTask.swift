/// The calls that wait for a worker: the worker's side of an engine.
public protocol RemoteTaskSource: Sendable {
  /// Waits for a call, which then belongs to the caller until the caller ends the task or is silent for too long.
  ///
  /// Cancelling the caller ends the wait. A call that was already taken is not lost: the engine delivers it again.
  ///
  /// - Returns: The task; `nil` if there will be no more.
  /// - Throws: Any error, after which the worker asks again; `CancellationError`.
  func nextTask() async throws -> (any RemoteTask)?
}

/// One delivery of a call to a worker.
public protocol RemoteTask: Sendable {
  /// The call.
  var call: RemoteCall { get }
  /// Which delivery of the call this is, from 1.
  var delivery: Int { get }
  /// The largest number of bytes of a value. Default: no limit.
  var payloadLimit: Int { get }

  /// Tells the engine that the worker is alive.
  ///
  /// - Parameter progress: The newest progress, if there is one.
  /// - Returns: Whether the caller has cancelled the call.
  /// - Throws: ``RemoteError`` of the kind ``RemoteError/Kind/superseded`` if the call is not the worker's any more; any other error
  ///   means that the heartbeat did not arrive.
  func heartbeat(_ progress: RemoteProgress?) async throws -> Bool

  /// Ends the delivery. The function can be called again after an error.
  ///
  /// - Parameter outcome: The outcome.
  /// - Throws: ``RemoteError`` of the kind ``RemoteError/Kind/superseded`` if the engine refuses the outcome, since the call is not the
  ///   worker's any more, or ``RemoteError/Kind/refused`` for another reason; any other error means that the outcome may not have arrived.
  func end(_ outcome: RemoteOutcome) async throws
}

extension RemoteTask {
  /// No limit.
  public var payloadLimit: Int { .max }
}

/// The outcome of one delivery of a call.
public enum RemoteOutcome: Hashable, Sendable {
  /// The procedure has a value.
  case finished([UInt8])
  /// The procedure has failed, or the worker refuses the call. The engine does not deliver the call again.
  case failed(RemoteFailure)
  /// The execution ended because the caller has cancelled.
  case cancelled
  /// The worker stops. The engine delivers the call again.
  case abandoned
}
