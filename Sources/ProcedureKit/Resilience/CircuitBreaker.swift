import Synchronization

/// Stops calling what keeps failing, and looks from time to time whether it works again.
///
/// While it is closed, calls go through. When too large a part of the latest ones has failed it opens: calls are refused at
/// once, which spares the callers the wait and the called the load. After a cooldown the next call goes through as a probe;
/// if that succeeds the breaker closes, otherwise it stays open for another cooldown. A cancelled call counts as neither,
/// and one that began before the latest change of state decides nothing.
///
/// One breaker is meant to be shared by everything that calls the same server, from any number of queues.
public final class CircuitBreaker: Sendable {
  /// Whether calls go through.
  public enum State: Sendable, Hashable {
    /// Calls go through.
    case closed
    /// Calls are refused, or, after the cooldown, the next one becomes the probe.
    case open
    /// The probe is under way; other calls are refused.
    case halfOpen
  }

  /// What errors and diagnostics call it.
  public let name: String
  private let time: QueueTime
  private let machine: Mutex<CircuitBreakerMachine>
  private let broadcaster = EventBroadcaster<State>()

  /// Makes a closed breaker.
  ///
  /// - Parameters:
  ///   - name: What errors and diagnostics call it.
  ///   - failureRatio: It opens when at least this part of the latest calls has failed, 0.5 for half of them. More than 1
  ///     never opens.
  ///   - minimumCalls: It does not open before so many calls have ended within the window.
  ///   - window: How long a call counts; it may be up to a tenth less.
  ///   - cooldown: How long it stays open before it lets a probe through.
  ///   - clock: What measures these times.
  public init(
    _ name: String = "circuit breaker", failureRatio: Double = 0.5, minimumCalls: Int = 10,
    window: Duration = .seconds(30), cooldown: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.name = name
    time = QueueTime(clock)
    machine = Mutex(
      CircuitBreakerMachine(
        .init(failureRatio: failureRatio, minimumCalls: minimumCalls, window: window, cooldown: cooldown)))
  }

  deinit {
    broadcaster.close()
  }

  /// Whether calls go through.
  public var state: State {
    machine.withLock { $0.publicState }
  }

  /// The current state, and then each state that follows, in order. Each access is a new subscriber.
  ///
  /// A slow subscriber delays nobody and loses nothing. The stream ends when the breaker is released. The stream is for one
  /// consumer: another one asks for a stream of its own.
  public var states: AsyncStream<State> {
    machine.withLock { broadcaster.subscribe(replaying: [$0.publicState]) }.stream(
      waiting: ProcedureContext.lendingSlot)
  }

  /// Internal. Asks to make a call. Whoever is admitted has to tell how it ended.
  func callWanted() -> CircuitBreakerMachine.Admission {
    let now = time.now.sinceStart
    return change { $0.callWanted(at: now) }
  }

  /// Internal. A call has ended that was admitted.
  func callEnded(_ permit: CircuitBreakerMachine.Permit, _ ending: CircuitBreakerMachine.Ending) {
    let now = time.now.sinceStart
    change { $0.callEnded(permit, ending, at: now) }
  }

  /// Internal. How long from now until that instant, at least zero.
  func remaining(until instant: Duration) -> Duration {
    (instant - time.now.sinceStart).saturated
  }

  private func change<R: Sendable>(_ event: (inout CircuitBreakerMachine) -> R) -> R {
    var effects: [EventEffect] = []
    let result = machine.withLock { machine in
      let before = machine.publicState
      let result = event(&machine)
      // Sent under the lock, so that everybody sees the states in the order in which they came.
      if machine.publicState != before, broadcaster.isObserved { broadcaster.send(machine.publicState, &effects) }
      return result
    }
    for effect in effects { effect.perform() }
    return result
  }
}

extension CircuitBreakerMachine {
  fileprivate var publicState: CircuitBreaker.State {
    switch state {
    case .closed: .closed
    case .open: .open
    case .halfOpen: .halfOpen
    }
  }
}

extension CircuitBreaker.State: BroadcastEvent {}
