import Synchronization

/// Limits the rate of calls: excess calls wait in order of arrival, or are refused.
///
/// The limiter is a token bucket. After a rest, a burst of calls goes through at once; then one call goes through for
/// each new token. A waiting call holds no slot. The limiter counts a call when the call is granted, even if the call
/// then waits for a slot. If a call has waited and is cancelled between the grant and the body, its token goes back to
/// the bucket, unless another call has been granted since.
///
/// All callers of one service should share one limiter, on any number of queues.
public final class RateLimiter: Sendable {
  private struct Contents {
    var machine: RateLimiterMachine
    /// The waiting callers, without the head.
    var wakeups: [RateLimiterMachine.Ticket: Wakeup] = [:]
    /// The wakeup at which the head sleeps until its turn.
    var head: Wakeup?

    /// Returns the wakeups of granted calls, and the wakeup of a new head.
    mutating func called(_ granted: [RateLimiterMachine.Ticket]) -> [Wakeup] {
      var called = granted.compactMap { wakeups.removeValue(forKey: $0) }
      if let head = wakeups.removeValue(forKey: machine.head) { called.append(head) }
      return called
    }
  }

  /// Internal. The answer to an arriving call.
  enum Arrival {
    case granted
    /// No token is available before `retryAfter` has passed; `nil` if no token ever will be.
    case refused(retryAfter: Duration?)
    case waits(Wait)
  }

  /// Internal. A wakeup in line; none for the head.
  struct Wait {
    fileprivate let ticket: RateLimiterMachine.Ticket
    fileprivate let wakeup: Wakeup?
  }

  private let time: QueueTime
  private let contents: Mutex<Contents>

  /// Makes a limiter with a full bucket.
  ///
  /// - Parameters:
  ///   - count: The number of calls in each period, on average. A value that is not positive lets no call through.
  ///   - period: The length of a period. A value that is not positive disables the limit.
  ///   - burst: The number of calls that can go through at once after a rest, at least one. The default is `count`.
  ///   - longestWait: The longest wait. A call that would wait longer is refused at once; zero refuses every call that
  ///     would wait. `nil` never refuses for this reason.
  ///   - clock: The clock for the period and the waits.
  public init(
    _ count: Int, per period: Duration, burst: Int? = nil, longestWait: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let bucket = TokenBucket(
      capacity: count > 0 ? max(burst ?? count, 1) : 0, interval: period.saturated / max(count, 1))
    time = QueueTime(clock)
    contents = Mutex(Contents(machine: RateLimiterMachine(bucket: bucket, longestWait: longestWait)))
  }

  /// The number of calls that could go through now.
  public var availableCount: Int {
    let now = time.now.sinceStart
    return contents.withLock { $0.machine.tokens(at: now) }
  }

  /// The number of waiting calls.
  public var waitingCount: Int {
    contents.withLock { $0.machine.waitingCount }
  }

  /// Internal. A call arrives. For the answer `waits`, the caller has to call `wait(for:_:at:)`.
  func arrive() -> Arrival {
    let (now, wakeup) = (time.now.sinceStart, Wakeup())
    let (admission, isHead, called) = contents.withLock { contents in
      let called = contents.called(contents.machine.timePassed(to: now))
      let admission = contents.machine.arrived(at: now)
      guard case .waiting(let ticket) = admission else { return (admission, false, called) }
      let isHead = contents.machine.head == ticket
      if !isHead { contents.wakeups[ticket] = wakeup }
      return (admission, isHead, called)
    }
    for other in called { other.call() }
    switch admission {
    case .granted: return .granted
    case .refused(let end): return .refused(retryAfter: end.map { ($0 - now).saturated })
    case .waiting(let ticket): return .waits(Wait(ticket: ticket, wakeup: isHead ? nil : wakeup))
    }
  }

  /// Waits for the turn of a call.
  ///
  /// - Parameters:
  ///   - wait: The answer of `arrive`.
  ///   - timers: The timers of the queue.
  ///   - isCalled: Waits at a wakeup, and returns whether the wakeup was called.
  /// - Returns: Whether the turn has come.
  func wait(for wait: Wait, _ timers: Timers, at isCalled: (Wakeup) async -> Bool) async -> Bool {
    if let wakeup = wait.wakeup, await !isCalled(wakeup) { return leave(wait.ticket) }
    while true {
      let wakeup = Wakeup()
      guard let due = turn(of: wait.ticket, awaitedAt: wakeup) else { return true }
      let timer = timers.schedule(after: due - time.now.sinceStart) { wakeup.call() }
      let wasCalled = await isCalled(wakeup)
      timers.cancel(timer)
      guard wasCalled else { return leave(wait.ticket) }
      let now = time.now.sinceStart
      let called = contents.withLock { $0.called($0.machine.timePassed(to: now)) }
      for other in called { other.call() }
    }
  }

  /// Internal. Reports that a granted call is not made, since the caller was cancelled before.
  func callAbandoned(_ wait: Wait) {
    let now = time.now.sinceStart
    let head = contents.withLock { contents in
      contents.machine.callAbandoned(wait.ticket, at: now)
      return contents.head.take()
    }
    // The turn of the head comes earlier now.
    head?.call()
  }

  /// Makes the head wait at a wakeup for its turn.
  ///
  /// - Returns: The instant of the turn; `nil` if the turn has come.
  private func turn(of ticket: RateLimiterMachine.Ticket, awaitedAt wakeup: Wakeup) -> Duration? {
    contents.withLock { contents in
      guard contents.machine.isWaiting(ticket) else { return nil }
      contents.head = wakeup
      return contents.machine.nextGrant
    }
  }

  private func leave(_ ticket: RateLimiterMachine.Ticket) -> Bool {
    let (isGranted, called) = contents.withLock { contents in
      let isGranted = !contents.machine.isWaiting(ticket)
      contents.wakeups[ticket] = nil
      contents.machine.left(ticket)
      return (isGranted, contents.called([]))
    }
    for other in called { other.call() }
    return isGranted
  }
}
