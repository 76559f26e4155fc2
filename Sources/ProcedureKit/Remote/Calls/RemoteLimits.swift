/// The time limits of a call, after which the call ends with a value or a ``RemoteError``.
///
/// Without a cancel, a call ends at the latest after ``deliveries`` times the sum of ``startTimeout`` and ``executionTimeout``, and lost connections
/// add ``connectionTimeout``. A worker that is lost is noticed earlier, after ``heartbeatTimeout``.
public struct RemoteLimits: Hashable, Codable, Sendable {
  /// How long a call may wait for a worker. Then the call ends with ``RemoteError/Kind/noWorker``.
  public var startTimeout: Duration = .seconds(600)

  /// The longest silence of a worker. A worker sends a heartbeat after a third of this time; a worker that is silent for longer is lost, and
  /// another worker gets the call. Also the longest wait for a cancelled execution.
  public var heartbeatTimeout: Duration = .seconds(30)

  /// How long one worker may execute the call. Then the call ends with ``RemoteError/Kind/executionTimedOut``.
  public var executionTimeout: Duration = .seconds(3_600)

  /// How many workers may begin to execute the call, one after another, at least 1. An engine may leave out workers that were stopped and
  /// gave the call back, as ``LocalEngine`` does. When the last one is lost, the call ends with ``RemoteError/Kind/workerLost``.
  public var deliveries = 3

  /// How long a lost connection is tried again, from the moment when the executor notices the loss. Then the call ends with
  /// ``RemoteError/Kind/connectionLost``.
  public var connectionTimeout: Duration = .seconds(60)

  /// Makes the default limits.
  public init() {}

  /// The longest time of a call without a cancel, as above.
  var whole: Duration {
    let delivery = startTimeout.saturated + executionTimeout.saturated
    return (delivery * min(max(deliveries, 1), 1_000_000)).saturated + connectionTimeout.saturated
  }
}
