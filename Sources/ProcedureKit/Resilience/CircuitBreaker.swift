import Synchronization

/// A circuit breaker for calls to a service. If the service keeps failing, the breaker stops the calls, and periodically checks whether the
/// service has recovered.
///
/// A closed breaker admits calls. When too many of the latest calls have failed, the breaker opens. An open breaker refuses calls
/// immediately, so callers do not wait and the load on the service is reduced. After a cooldown, the next call is admitted as a probe. If
/// the probe succeeds, the breaker closes; if it fails, the breaker opens for another cooldown. A cancelled call, and one that was not
/// made, count neither as a success nor as a failure; see ``Procedure/circuitBreaker(_:)``. A call that began before the latest change of
/// state does not count.
///
/// All callers of a service should share one breaker, even if they use different queues.
public final class CircuitBreaker: Sendable {
  /// A breaker's state, which determines whether calls are admitted.
  @frozen
  public enum State: Sendable, Hashable {
    /// Calls are admitted.
    case closed
    /// Calls are refused. After the cooldown, the next call becomes the probe.
    case open
    /// One call, the probe, is in progress. All other calls are refused.
    case halfOpen
  }

  /// The name of the breaker in errors and diagnostics.
  public let name: String
  let time: QueueClock
  private let machine: Mutex<CircuitBreakerMachine>
  private let broadcaster = EventBroadcaster<State>()

  /// Creates a closed breaker.
  ///
  /// - Parameters:
  ///   - name: The name of the breaker in errors and diagnostics.
  ///   - failureRatio: The fraction of the most recent calls that must fail before the breaker opens, for example 0.5 for half of them. If
  ///     the ratio is above 1, the breaker never opens.
  ///   - minimumCalls: The number of calls that must end within the window before the breaker can open.
  ///   - window: How long a call counts after it ends. The actual time can be up to a tenth shorter.
  ///   - cooldown: The time after which an open breaker can admit a probe.
  ///   - clock: The clock for the window and the cooldown.
  public init(
    _ name: String = "circuit breaker", failureRatio: Double = 0.5, minimumCalls: Int = 10,
    window: Duration = .seconds(30), cooldown: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.name = name
    time = QueueClock(clock)
    machine = Mutex(
      CircuitBreakerMachine(
        .init(failureRatio: failureRatio, minimumCalls: minimumCalls, window: window, cooldown: cooldown)))
  }

  deinit {
    broadcaster.close()
  }

  /// The breaker's current state, which determines whether calls are admitted.
  public var state: State {
    machine.withLock { $0.publicState }
  }

  /// The current state, followed by each later state, in order. Each access creates a new subscription.
  ///
  /// A slow subscriber neither delays calls nor misses states. The stream ends when the breaker is released. Each stream supports only one
  /// consumer.
  public var states: AsyncStream<State> {
    machine.withLock { broadcaster.subscribe(replaying: [$0.publicState]) }.stream { [name] in
      await ProcedureContext.withSlotReleased(waitingFor: name, $0)
    }
  }

  /// Requests permission for a call. When an admitted call ends, the caller must call `callEnded`.
  func callWanted() -> CircuitBreakerMachine.Admission {
    change { $0.callWanted(at: $1) }
  }

  /// Reports the end of an admitted call.
  func callEnded(_ permit: CircuitBreakerMachine.Permit, _ ending: CircuitBreakerMachine.Ending) {
    change { $0.callEnded(permit, ending, at: $1) }
  }

  private func change<R: Sendable>(_ event: (inout CircuitBreakerMachine, Duration) -> R) -> R {
    let now = time.now.sinceStart
    var effects: [EventEffect] = []
    let result = machine.withLock { machine in
      let before = machine.publicState
      let result = event(&machine, now)
      // The state is sent under the lock, so that all subscribers see the states in the order in which they occur.
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
