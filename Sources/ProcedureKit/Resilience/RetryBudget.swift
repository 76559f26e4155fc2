/// A limit on how often all callers of a service can retry. It keeps retries from overloading a failing service.
///
/// When every call fails, retries multiply the load by the number of attempts. A budget holds a limited number of retries. Each retry takes
/// one from the budget, and successes and the passage of time replenish it. When the budget is exhausted, a failed call throws its error
/// instead of being retried. All callers of a service should share one budget, even if they use different queues.
///
/// ```swift
/// let budget = RetryBudget(capacity: 5, oneMoreEvery: .seconds(10))  // created once
/// let careful = download.retry(.constant(.seconds(1)), maxAttempts: 3, budget: budget)
/// let page = try await queue.run(careful, input: 7)
/// ```
///
/// ``Procedure/retry(_:maxAttempts:budget:when:)`` uses and replenishes the budget. Other code that retries must call ``takeRetry()``
/// before each retry, and ``recordSuccess()`` after each success.
public final class RetryBudget: Sendable {
  /// The maximum number of retries that the budget can hold.
  public let capacity: Int
  private let successesPerRetry: Int
  private let time: QueueClock
  private let bucket: Locked<TokenBucket>

  /// Creates a full budget.
  ///
  /// - Parameters:
  ///   - capacity: The maximum number of retries that the budget can hold. No more retries than this can be made in quick succession. A
  ///     value of zero or less allows no retries.
  ///   - successesPerRetry: The number of successes that return one retry to the budget. For example, 10 limits retries to a tenth of the
  ///     calls. Values below 1 count as 1.
  ///   - interval: The interval at which one retry is returned to the budget, regardless of successes. If it is zero or less, retries are
  ///     not limited.
  ///   - clock: The clock for the interval.
  public init(
    capacity: Int = 10, successesPerRetry: Int = 10, oneMoreEvery interval: Duration = .seconds(1),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let bucket = TokenBucket(capacity: capacity, interval: interval)
    self.capacity = bucket.capacity
    self.successesPerRetry = successesPerRetry
    time = QueueClock(clock)
    self.bucket = Locked(bucket)
  }

  /// The number of retries that are currently available.
  public var retriesLeft: Int {
    let now = time.now.sinceStart
    return bucket.withLock { $0.tokens(at: now) }
  }

  /// Takes one retry from the budget.
  ///
  /// - Returns: `true` if the budget had a retry left, in which case the caller can retry.
  public func takeRetry() -> Bool {
    let now = time.now.sinceStart
    return bucket.withLock { $0.take(at: now) }
  }

  /// Puts back a retry that was taken with ``takeRetry()``. Call this function if the attempt was cancelled before it was made.
  public func returnRetry() {
    let now = time.now.sinceStart
    bucket.withLock { $0.add(oneOf: 1, at: now) }
  }

  /// Records a successful attempt, whether it is the first attempt or a retry.
  public func recordSuccess() {
    let now = time.now.sinceStart
    bucket.withLock { $0.add(oneOf: successesPerRetry, at: now) }
  }
}
