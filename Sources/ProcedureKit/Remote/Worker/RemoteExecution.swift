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
  /// The part of the worker's run in the tree of progress.
  private let part = Locked<ProgressPart?>(nil)

  init(_ call: RemoteCall, delivery: Int, onProgress: @escaping @Sendable (RemoteProgress) -> Void) {
    (procedure, key, self.delivery, self.onProgress) = (call.procedure, call.key, delivery, onProgress)
  }

  /// Tells the caller how far the execution is. The newest progress travels with the next heartbeat.
  ///
  /// What a procedure of the worker reports by ``ProcedureContext/progress`` travels, too. Of both fractions, the greater one counts; this
  /// function adds a message, and is also a report of the procedure that calls it.
  ///
  /// - Parameter progress: The progress.
  public func report(_ progress: RemoteProgress) {
    if let fraction = progress.fraction { ProcedureContext.current?.progress.report(fraction) }
    onProgress(progress)
  }

  /// The progress of the worker's run is that of the execution from now on.
  func follow(_ run: Run) {
    let progress = run.progressPart
    part.withLock { $0 = progress }
  }

  /// Returns a progress together with that of the worker's run; `nil` if there is none, and if the run has ended, since its outcome follows.
  func progress(with latest: RemoteProgress?) -> RemoteProgress? {
    guard let part = part.withLock({ $0 }) else { return latest }
    guard let fraction = part.fractionUnderWay else { return nil }
    if fraction == 0 { return latest }
    return RemoteProgress(max(fraction, latest?.fraction ?? 0), latest?.message ?? "")
  }

  func bound<R: Sendable>(_ operation: @Sendable () async -> R) async -> R {
    await Self.bound.withValue(self, operation: operation)
  }
}
