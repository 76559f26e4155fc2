import Synchronization

/// How many retries all callers of something may make together, so that they do not add to its trouble when it fails.
///
/// Where everything fails, retries multiply the load by the number of attempts. A budget allows few at once; each retry
/// costs one of them, which come back with time and with successes. One that is spent ends retrying: the last error is
/// thrown. One budget is meant to be shared by everything that calls the same server, from any number of queues.
///
/// ```swift
/// let budget = RetryBudget(capacity: 5, oneMoreEvery: .seconds(10))  // made once
/// let careful = download.retry(.constant(.seconds(1)), maxAttempts: 3, budget: budget)
/// let page = try await queue.run(careful, input: 7)
/// ```
///
/// ``Procedure/retry(_:maxAttempts:budget:when:)`` does all the accounting. Who retries in a way of their own asks
/// ``takeRetry()`` before each retry, and reports each ``attemptSucceeded()``.
public final class RetryBudget: Sendable {
  /// The most retries that can be saved up.
  public let capacity: Int
  private let successesPerRetry: Int
  private let time: QueueTime
  private let bucket: Mutex<TokenBucket>

  /// Makes a full budget.
  ///
  /// - Parameters:
  ///   - capacity: The most retries that can be saved up, and so the most in a row; none if it is not positive.
  ///   - successesPerRetry: How many successes allow one more retry: 10 makes retries a tenth of the calls. Less than 1 counts
  ///     as 1.
  ///   - interval: The time that allows one more retry, however few calls there are. If it is not positive, retries are not
  ///     limited.
  ///   - clock: What measures that time.
  public init(
    capacity: Int = 10, successesPerRetry: Int = 10, oneMoreEvery interval: Duration = .seconds(1),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let bucket = TokenBucket(capacity: capacity, interval: interval)
    self.capacity = bucket.capacity
    self.successesPerRetry = successesPerRetry
    time = QueueTime(clock)
    self.bucket = Mutex(bucket)
  }

  /// How many retries could be made now.
  public var retriesLeft: Int {
    let now = time.now.sinceStart
    return bucket.withLock { $0.tokens(at: now) }
  }

  /// A retry is about to be made. Says whether it may; if so, it has been paid for.
  public func takeRetry() -> Bool {
    let now = time.now.sinceStart
    return bucket.withLock { $0.take(at: now) }
  }

  /// A retry that has been paid for is not made after all: whoever was to make it was cancelled before.
  public func retryAbandoned() {
    let now = time.now.sinceStart
    bucket.withLock { $0.add(oneOf: 1, at: now) }
  }

  /// An attempt has succeeded, the first or a later one.
  public func attemptSucceeded() {
    let now = time.now.sinceStart
    bucket.withLock { $0.add(oneOf: successesPerRetry, at: now) }
  }
}
