import Synchronization

/// A limit on the rate of calls. Excess calls wait in order of arrival or are refused.
///
/// The limiter is a token bucket. After a period without calls, it admits a burst of calls immediately; after that, it admits one call for
/// each new token. A waiting call holds no slot. A call uses up its token as soon as it is admitted, even if it has to wait for a slot
/// afterwards. If a call that had to wait is cancelled between its admission and the start of its body, its token is returned to the
/// bucket, unless another call has since been admitted.
///
/// All callers of a service should share one limiter, even if they use different queues.
public final class RateLimiter: Sendable {
  private struct Contents {
    var machine: RateLimiterMachine
    /// The signals of the waiting calls.
    var signals: [RateLimiterMachine.Ticket: OneShotSignal] = [:]
  }

  let time: QueueClock
  private let contents: Mutex<Contents>

  /// Creates a limiter with a full bucket.
  ///
  /// - Parameters:
  ///   - count: The average number of calls that are admitted in each period. If the value is zero or less, no calls are admitted.
  ///   - period: The length of a period. A value of zero or less disables the limit.
  ///   - burst: The number of calls that can be admitted at once when the bucket is full. Values below 1 count as 1. The default is
  ///     `count`.
  ///   - longestWait: The maximum time that a call can wait. A call that would wait longer is refused immediately; if the value is zero,
  ///     every call that would have to wait is refused. If the value is `nil`, no call is refused for this reason.
  ///   - clock: The clock for the period and the waits.
  public init(
    _ count: Int, per period: Duration, burst: Int? = nil, longestWait: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let bucket = TokenBucket(
      capacity: count > 0 ? max(burst ?? count, 1) : 0, interval: period.saturated / max(count, 1))
    time = QueueClock(clock)
    contents = Mutex(Contents(machine: RateLimiterMachine(bucket: bucket, longestWait: longestWait)))
  }

  /// The number of calls that would be admitted immediately.
  public var availableCount: Int {
    let now = time.now.sinceStart
    return contents.withLock { $0.machine.tokens(at: now) }
  }

  /// The number of waiting calls.
  public var waitingCount: Int {
    contents.withLock { $0.machine.waitingCount }
  }

  /// Reports that a call arrived, and returns the limiter's decision. If the call has to wait, the caller must call `wait(for:_:at:)`.
  func arrive() -> RateLimiterMachine.Admission {
    change { $0.machine.arrived(at: $1) }
  }

  /// Waits until a call is admitted.
  ///
  /// The call at the head of the line sleeps until its turn. Each other call is signalled when it is admitted or reaches the head of the
  /// line.
  ///
  /// - Parameters:
  ///   - ticket: The ticket that `arrive` returned.
  ///   - timers: The timers of the queue.
  ///   - isCalled: A function that waits for a signal and returns whether the signal was sent before the wait was cancelled.
  /// - Returns: Whether the call was admitted.
  func wait(
    for ticket: RateLimiterMachine.Ticket, _ timers: Timers, at isCalled: (OneShotSignal) async -> Bool
  ) async -> Bool {
    while true {
      let signal = OneShotSignal()
      let (isWaiting, due) = change { contents, now -> (Bool, Duration?) in
        contents.machine.timePassed(to: now)
        guard contents.machine.isWaiting(ticket) else { return (false, nil) }
        contents.signals[ticket] = signal
        guard contents.machine.head == ticket else { return (true, nil) }
        return (true, contents.machine.nextGrant)
      }
      guard isWaiting else { return true }
      let timer = due.map { timers.schedule(after: $0 - time.now.sinceStart) { signal.signal() } }
      let wasCalled = await isCalled(signal)
      if let timer { timers.cancel(timer) }
      guard wasCalled else { return leave(ticket) }
    }
  }

  /// Reports that an admitted call will not be made, because the caller was cancelled first.
  func callAbandoned(_ ticket: RateLimiterMachine.Ticket) {
    // The call at the head of the line is signalled, because its turn now comes earlier.
    let head = change { contents, now in
      contents.machine.callAbandoned(ticket, at: now)
      return contents.signals.removeValue(forKey: contents.machine.head)
    }
    head?.signal()
  }

  /// Ends a wait. Returns whether the call had already been admitted.
  private func leave(_ ticket: RateLimiterMachine.Ticket) -> Bool {
    change { contents, _ in
      let isGranted = !contents.machine.isWaiting(ticket)
      contents.signals[ticket] = nil
      contents.machine.left(ticket)
      return isGranted
    }
  }

  /// Applies an event. Signals the calls that the event admitted and, if there is a new call at the head of the line, that call.
  private func change<R: Sendable>(_ event: (inout Contents, Duration) -> R) -> R {
    let now = time.now.sinceStart
    let (result, called) = contents.withLock { contents in
      let head = contents.machine.head
      let result = event(&contents, now)
      let newHead = contents.machine.head
      // A call that has left the line has no signal.
      let passed = newHead == head ? nil : head...newHead
      return (result, passed?.compactMap { contents.signals.removeValue(forKey: $0) } ?? [])
    }
    for signal in called { signal.signal() }
    return result
  }
}
