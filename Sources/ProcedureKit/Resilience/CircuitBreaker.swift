import Synchronization

/// Refuses calls to a failing service, and probes from time to time whether the service works again.
///
/// A closed breaker lets calls through. The breaker opens when too large a fraction of the latest calls has failed:
/// calls are then refused at once, which saves the callers a wait and the service the load. After a cooldown the next
/// call goes through as a probe. A successful probe closes the breaker; a failed probe keeps the breaker open for
/// another cooldown. A cancelled call counts neither as a success nor as a failure, and a call that began before the
/// latest change of state does not count.
///
/// All callers of one service should share one breaker, on any number of queues.
public final class CircuitBreaker: Sendable {
  /// The state of a circuit breaker.
  public enum State: Sendable, Hashable {
    /// Calls go through.
    case closed
    /// Calls are refused. After the cooldown, the next call becomes the probe.
    case open
    /// The probe is under way. Other calls are refused.
    case halfOpen
  }

  /// The name in errors and diagnostics.
  public let name: String
  private let time: QueueTime
  private let machine: Mutex<CircuitBreakerMachine>
  private let broadcaster = EventBroadcaster<State>()

  /// Makes a closed breaker.
  ///
  /// - Parameters:
  ///   - name: The name in errors and diagnostics.
  ///   - failureRatio: The fraction of failed calls in the window that opens the breaker: 0.5 for half of the calls. A
  ///     value above 1 never opens the breaker.
  ///   - minimumCalls: The number of calls in the window below which the breaker does not open.
  ///   - window: The time for which a call counts. The effective window can be up to a tenth shorter.
  ///   - cooldown: The time between opening and the probe.
  ///   - clock: The clock for the window and the cooldown.
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

  /// The current state.
  public var state: State {
    machine.withLock { $0.publicState }
  }

  /// The current state, followed by every later state in order.
  ///
  /// Each access is a new subscription. A slow subscriber delays nobody. The stream ends when the breaker is released.
  public var states: AsyncStream<State> {
    let subscription = machine.withLock {
      broadcaster.subscribe(replaying: [$0.publicState], waiting: ProcedureContext.lendingSlot)
    }
    return AsyncStream { await subscription.next() }
  }

  /// Internal. Admits or refuses a call. The caller of an admitted call has to report its end.
  func callWanted() -> CircuitBreakerMachine.Admission {
    let now = time.now.sinceStart
    return change { $0.callWanted(at: now) }
  }

  /// Internal. Reports the end of an admitted call.
  func callEnded(_ permit: CircuitBreakerMachine.Permit, _ ending: CircuitBreakerMachine.Ending) {
    let now = time.now.sinceStart
    change { $0.callEnded(permit, ending, at: now) }
  }

  /// Internal. Returns the time from now until `instant`, at least zero.
  func remaining(until instant: Duration) -> Duration {
    (instant - time.now.sinceStart).saturated
  }

  private func change<R: Sendable>(_ event: (inout CircuitBreakerMachine) -> R) -> R {
    var woken: [Waiter] = []
    let result = machine.withLock { machine in
      let before = machine.publicState
      let result = event(&machine)
      // Sending under the lock gives all subscribers the states in one order.
      if machine.publicState != before, broadcaster.isObserved { broadcaster.send(machine.publicState, &woken) }
      return result
    }
    for waiter in woken { waiter.resume() }
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

extension CircuitBreaker.State: BufferedEvent {}
