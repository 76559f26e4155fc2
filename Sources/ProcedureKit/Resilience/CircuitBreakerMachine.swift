/// Internal. Decides which calls a circuit breaker lets through. Instants are durations since some epoch.
///
/// | state | call wanted | call succeeded | call failed | call abandoned |
/// |---|---|---|---|---|
/// | closed | admitted | counted | counted; too many: open | – |
/// | open, cooling down | refused | – | – | – |
/// | open, cooled down | admitted as the probe: half-open | – | – | – |
/// | half-open | refused | closed | open | open, and cooled down |
///
/// Only what a call was admitted in counts its end: one that is still under way when the state changes decides nothing.
struct CircuitBreakerMachine {
  enum State: Equatable {
    /// Calls go through and are counted. Followed by `open`.
    case closed
    /// Calls are refused until the instant. Followed by `halfOpen`.
    case open(until: Duration)
    /// One call, the probe, is under way. Followed by `closed` or `open`.
    case halfOpen
  }

  /// When it opens, and for how long.
  struct Limits: Equatable {
    let failureRatio: Double
    let minimumCalls: Int
    let window: Duration
    let cooldown: Duration
  }

  /// The right to make one call, whose end has to be reported: the period in which the call was admitted.
  typealias Permit = Int

  enum Admission: Equatable {
    case admitted(Permit)
    /// Not before that instant, `nil` if that depends on a probe.
    case refused(until: Duration?)
  }

  enum Ending {
    case succeeded
    case failed
    /// It says nothing about what was called: it was cancelled, or never made.
    case abandoned
  }

  let limits: Limits
  private(set) var state = State.closed
  /// The calls that have ended since it was closed.
  private var window: SlidingWindow
  /// How many states there were before this one.
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
    case (.open, _): preconditionFailure("\(#function): a call was admitted in \(state)")
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

/// Internal. How many calls have succeeded and failed within the last stretch of time.
///
/// The stretch is counted in ten slices and what is older leaves a slice at a time, so that it costs the same however many
/// calls there are. Adding and reading are O(1).
struct SlidingWindow: Equatable {
  /// The count of a slice, or of all slices.
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

  /// Empties the slices that have passed. A call with a past instant is counted in the newest slice.
  private mutating func advance(to now: Duration) {
    let current = now.attoseconds / sliceLength.attoseconds
    guard current > newest else { return }
    for number in max(newest + 1, current - Int128(Self.sliceCount) + 1)...current {
      slices[Int(number % Int128(Self.sliceCount))] = Count()
    }
    newest = current
  }
}
