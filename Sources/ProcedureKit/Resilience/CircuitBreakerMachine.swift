/// A state machine that decides which calls a circuit breaker admits. Instants are durations since an arbitrary epoch.
///
/// | state | call wanted | call succeeded | call failed | call abandoned |
/// |---|---|---|---|---|
/// | closed | admitted | counted | counted; if too many calls have failed: open | – |
/// | open, cooling down | refused | – | – | – |
/// | open, cooled down | admitted as the probe: half-open | – | – | – |
/// | half-open | refused | closed | open | open, and cooled down |
///
/// A call's result counts only if the state has not changed since the call was admitted. The time between two changes is called a period.
struct CircuitBreakerMachine {
  enum State: Equatable {
    /// Calls are admitted and counted. The next state is `open`.
    case closed
    /// Calls are refused until this instant. The next state is `halfOpen`.
    case open(until: Duration)
    /// One call, the probe, is in progress. The next state is `closed` or `open`.
    case halfOpen
  }

  /// The conditions under which the breaker opens, and its cooldown.
  struct Limits: Equatable {
    let failureRatio: Double
    let minimumCalls: Int
    let window: Duration
    let cooldown: Duration
  }

  /// A permit for one call, represented by the number of the period in which the call was admitted. The end of the call must be reported.
  typealias Permit = Int

  enum Admission: Equatable {
    case admitted(Permit)
    /// The call is refused. `until` is the earliest instant at which a call can be admitted; `nil` if that depends on the probe's outcome.
    case refused(until: Duration?)
  }

  enum Ending {
    case succeeded
    case failed
    /// The call reveals nothing about the service: it was cancelled or never made.
    case abandoned
  }

  let limits: Limits
  private(set) var state = State.closed
  /// The counts of the calls that succeeded or failed within the time window. Both are zero when the breaker closes.
  private var window: SlidingWindow
  /// The number of the current period, which is the number of states that preceded the current one.
  private var period = 0

  init(_ limits: Limits) {
    self.limits = limits
    window = SlidingWindow(length: limits.window)
  }

  mutating func callWanted(at now: Duration) -> Admission {
    switch state {
    case .closed: break
    case .open(let end):
      guard end <= now else { return .refused(until: end) }
      enter(.halfOpen)
    case .halfOpen: return .refused(until: nil)
    }
    return .admitted(period)
  }

  mutating func callEnded(_ permit: Permit, _ ending: Ending, at now: Duration) {
    guard permit == period else { return }
    switch (state, ending) {
    case (.closed, .succeeded): window.callEnded(failed: false, at: now)
    case (.closed, .failed):
      window.callEnded(failed: true, at: now)
      if isTooMuch(window.count(at: now)) { enter(.open(until: now + limits.cooldown.saturated)) }
    case (.closed, .abandoned): break
    case (.halfOpen, .succeeded): enter(.closed)
    case (.halfOpen, .failed): enter(.open(until: now + limits.cooldown.saturated))
    case (.halfOpen, .abandoned): enter(.open(until: now))
    case (.open, _): preconditionFailure("\(#function): a call was admitted in the state \(state)")
    }
  }

  private func isTooMuch(_ count: SlidingWindow.Count) -> Bool {
    count.calls >= limits.minimumCalls && Double(count.failures) >= limits.failureRatio * Double(count.calls)
  }

  private mutating func enter(_ next: State) {
    state = next
    if next == .closed { window = SlidingWindow(length: limits.window) }
    period += 1
  }
}

/// A counter of calls and of failed calls in a sliding time window.
///
/// The window is divided into ten slices. The oldest slice is dropped when a new one begins, so the cost does not depend on the number of
/// calls. Adding a call and reading the counts take O(1) time.
struct SlidingWindow: Equatable {
  /// The number of calls and the number of failed calls, in one slice or in all slices.
  struct Count: Equatable {
    var calls = 0
    var failures = 0

    static func += (sum: inout Count, other: Count) {
      sum.calls += other.calls
      sum.failures += other.failures
    }
  }

  private static let sliceCount = 10

  private let sliceLength: Duration
  private var slices = [Count](repeating: Count(), count: sliceCount)
  /// The number of the newest slice, counted from the epoch.
  private var newest: Int128 = 0

  init(length: Duration) {
    sliceLength = max((length.saturated / Self.sliceCount).roundedUpToNanoseconds, .nanoseconds(1))
  }

  mutating func callEnded(failed: Bool, at now: Duration) {
    advance(to: now)
    slices[Int(newest % Int128(Self.sliceCount))] += Count(calls: 1, failures: failed ? 1 : 0)
  }

  mutating func count(at now: Duration) -> Count {
    advance(to: now)
    return slices.reduce(into: Count()) { $0 += $1 }
  }

  /// Empties the slices whose time has passed. If `now` precedes the newest slice, no slice changes, and a call that ended at `now` is
  /// counted in the newest slice.
  private mutating func advance(to now: Duration) {
    let current = now.attoseconds / sliceLength.attoseconds
    guard current > newest else { return }
    for number in max(newest + 1, current - Int128(Self.sliceCount) + 1)...current {
      slices[Int(number % Int128(Self.sliceCount))] = Count()
    }
    newest = current
  }
}
