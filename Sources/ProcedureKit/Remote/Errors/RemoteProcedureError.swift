/// Internal. A `ProcedureError` that travels.
///
/// Runs are known by name only, since an id means nothing in another process: the received error is an error of the run that called.
struct RemoteProcedureError: Error, Codable {
  private let kind: String
  private let condition, queue, resource, key, breaker: String?
  private let units, capacity, otherCapacity, limit: Int?
  private let duration, retryAfter: Duration?
  private let hasStarted: Bool?
  private let underlying: RemoteFailure?

  init(_ error: ProcedureError, underlying: RemoteFailure?) {
    kind = error.kind.description
    (condition, queue, resource, key, breaker) = (
      error.condition, error.queue, error.resource, error.key, error.breaker
    )
    (units, capacity, otherCapacity, limit) = (error.units, error.capacity, error.otherCapacity, error.limit)
    (duration, retryAfter, hasStarted) = (error.duration, error.retryAfter, error.hasStarted)
    self.underlying = underlying
  }

  /// Returns the error, as one of the run that called; `nil` for a kind of a later version.
  ///
  /// - Parameters:
  ///   - run: The run that called.
  ///   - decode: Returns the error behind the error.
  /// - Returns: The error, or `nil`.
  func error(of run: ProcedureIdentity, decode: (RemoteFailure) -> any Error) -> ProcedureError? {
    guard let kind = Self.kinds.first(where: { $0.description == self.kind }) else { return nil }
    return ProcedureError(kind, procedure: run) {
      ($0.condition, $0.queue, $0.resource, $0.key, $0.breaker) = (condition, queue, resource, key, breaker)
      ($0.units, $0.capacity, $0.otherCapacity, $0.limit) = (units, capacity, otherCapacity, limit)
      ($0.duration, $0.retryAfter, $0.hasStarted) = (duration, retryAfter, hasStarted)
      $0.underlying = underlying.map(decode)
    }
  }

  private static let kinds: [ProcedureError.Kind] = [
    .conditionFailed, .ignored, .dependencyFailed, .queueShutDown, .partsFailed, .exclusionDeadlock, .resourceConflict,
    .capacityExceeded, .producerFinished, .queueFull, .replaced, .stopped, .capabilityUnavailable,
    .capabilityUnauthorized, .timedOut, .circuitOpen, .rateExceeded, .bodySkipped,
  ]
}
