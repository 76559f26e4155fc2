/// The view of a worker's body on the call that it executes.
public struct RemoteExecution: Sendable {
  private static let bound = TaskLocal<RemoteExecution?>(wrappedValue: nil)

  /// The call that executes in the current task; `nil` in a body that no other process has called.
  public static var current: RemoteExecution? { bound.get() }

  /// The procedure.
  public let procedure: RemoteName
  /// The identity of the work: the same for each execution of a call, so that effects can be made idempotent with it.
  public let key: RemoteCall.Key
  /// Which execution of the call this is, from 1. A worker before the present one was lost if the number is greater.
  public let delivery: Int
  private let onProgress: @Sendable (RemoteProgress) -> Void

  init(_ call: RemoteCall, delivery: Int, onProgress: @escaping @Sendable (RemoteProgress) -> Void) {
    (procedure, key, self.delivery, self.onProgress) = (call.procedure, call.key, delivery, onProgress)
  }

  /// Tells the caller how far the execution is. The newest progress travels with the next heartbeat.
  ///
  /// - Parameter progress: The progress.
  public func report(_ progress: RemoteProgress) {
    onProgress(progress)
  }

  func bound<R: Sendable>(_ operation: @Sendable () async -> R) async -> R {
    await Self.bound.withValue(self, operation: operation)
  }
}
