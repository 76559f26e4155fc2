import Synchronization

/// Lets so many calls through in a stretch of time, and makes the others wait, first come first served, or refuses them.
///
/// It is a token bucket: after a rest a burst goes through at once, then one call each time a token comes back. Calls that
/// wait hold no slot and take no task. What a call waits for after it was let through, a slot say, is not looked at. One that
/// is cancelled before it is made does not count, unless others have gone through since. One limiter is meant to be shared by everything that calls the same server,
/// from any number of queues.
public final class RateLimiter: Sendable {
  private struct Contents {
    var machine: RateLimiterMachine
    /// Who waits, but for the head.
    var places: [RateLimiterMachine.Ticket: Place] = [:]
    /// Where the head sleeps until it is due.
    var head: Place?

    /// After anything that has happened: those who may go on, and the head, that has to know that it is.
    mutating func called(_ granted: [RateLimiterMachine.Ticket]) -> [Place] {
      var called = granted.compactMap { places.removeValue(forKey: $0) }
      if let head = places.removeValue(forKey: machine.head) { called.append(head) }
      return called
    }
  }

  /// Internal. What becomes of somebody who wants to go on.
  enum Arrival {
    case granted
    /// There is nothing to be had before this has passed, or ever.
    case refused(retryAfter: Duration?)
    case waits(Wait)
  }

  /// Internal. A place in line; none for the head.
  struct Wait {
    fileprivate let ticket: RateLimiterMachine.Ticket
    fileprivate let place: Place?
  }

  private let time: QueueTime
  private let contents: Mutex<Contents>

  /// Makes a limiter that has been resting.
  ///
  /// - Parameters:
  ///   - count: How many calls may go through in each stretch of time, in the long run. None ever, if it is not positive.
  ///   - period: That stretch. If it is not positive, calls are not limited.
  ///   - burst: How many may go through at once after a rest, at least one; as many as `count` unless it is given.
  ///   - longestWait: Who would have to wait longer is refused at once; zero refuses whoever would have to wait. Without it
  ///     everybody waits as long as it takes.
  ///   - clock: What measures these times.
  public init(
    _ count: Int, per period: Duration, burst: Int? = nil, longestWait: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let bucket = TokenBucket(
      capacity: count > 0 ? max(burst ?? count, 1) : 0, interval: period.saturated / max(count, 1))
    time = QueueTime(clock)
    contents = Mutex(Contents(machine: RateLimiterMachine(bucket: bucket, longestWait: longestWait)))
  }

  /// How many calls could go through at once.
  public var available: Int {
    let now = time.now.sinceStart
    return contents.withLock { $0.machine.tokens(at: now) }
  }

  /// How many calls wait.
  public var waitingCount: Int {
    contents.withLock { $0.machine.waitingCount }
  }

  /// Internal. Somebody wants to go on. Whoever has to wait does so by `wait(for:at:timers:)`, which has to follow.
  func arrive() -> Arrival {
    let (now, place) = (time.now.sinceStart, Place())
    let (admission, isHead, called) = contents.withLock { contents in
      let called = contents.called(contents.machine.timePassed(to: now))
      let admission = contents.machine.arrived(at: now)
      guard case .waiting(let ticket) = admission else { return (admission, false, called) }
      let isHead = contents.machine.head == ticket
      if !isHead { contents.places[ticket] = place }
      return (admission, isHead, called)
    }
    for other in called { other.call() }
    switch admission {
    case .granted: return .granted
    case .refused(let end): return .refused(retryAfter: end.map { ($0 - now).saturated })
    case .waiting(let ticket): return .waits(Wait(ticket: ticket, place: isHead ? nil : place))
    }
  }

  /// Waits for the turn of a call.
  ///
  /// - Parameters:
  ///   - wait: What `arrive` has answered.
  ///   - timers: The timers of the queue.
  ///   - isCalled: Waits at a place, and returns whether the place was called.
  /// - Returns: Whether the turn has come.
  func wait(for wait: Wait, _ timers: Timers, at isCalled: (Place) async -> Bool) async -> Bool {
    if let place = wait.place, await !isCalled(place) { return leave(wait.ticket) }
    while true {
      let place = Place()
      guard let due = turn(of: wait.ticket, awaitedAt: place) else { return true }
      let timer = timers.schedule(after: due - time.now.sinceStart) { place.call() }
      let wasCalled = await isCalled(place)
      timers.cancel(timer)
      guard wasCalled else { return leave(wait.ticket) }
      let now = time.now.sinceStart
      let called = contents.withLock { $0.called($0.machine.timePassed(to: now)) }
      for other in called { other.call() }
    }
  }

  /// Internal. A call that had its turn is not made after all: whoever was to make it was cancelled before.
  func callAbandoned(_ wait: Wait) {
    let now = time.now.sinceStart
    let head = contents.withLock { contents in
      contents.machine.callAbandoned(wait.ticket, at: now)
      return contents.head.take()
    }
    // It is due earlier now.
    head?.call()
  }

  /// The head waits from now on at this place for its turn.
  ///
  /// - Returns: When that is; `nil` if it has come.
  private func turn(of ticket: RateLimiterMachine.Ticket, awaitedAt place: Place) -> Duration? {
    contents.withLock { contents in
      guard contents.machine.isWaiting(ticket) else { return nil }
      contents.head = place
      return contents.machine.nextGrant
    }
  }

  private func leave(_ ticket: RateLimiterMachine.Ticket) -> Bool {
    let (isGranted, called) = contents.withLock { contents in
      let isGranted = !contents.machine.isWaiting(ticket)
      contents.places[ticket] = nil
      contents.machine.left(ticket)
      return (isGranted, contents.called([]))
    }
    for other in called { other.call() }
    return isGranted
  }
}
