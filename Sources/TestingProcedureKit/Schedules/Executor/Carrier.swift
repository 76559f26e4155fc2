import Synchronization

/// A thread of an exploration. One carrier at a time has the baton and runs jobs; all others wait for an order.
final class Carrier: Sendable {
  enum Order: Sendable {
    /// Run the explorer's own job.
    case host(UnownedJob, Crew)
    /// Take the baton, and run the job first.
    case run(ReadyJob, ScheduleExecutor)
    /// Go on with the parked job.
    case goOn
    /// For the driver: look whether the schedule stands still.
    case look
    /// End the thread.
    case leave
  }

  private struct State {
    var orders: [Order] = []
    var file: String?
    var stackBase: UInt = 0
    var stackStart: UInt = 0
  }

  private let state = Mutex(State())
  private let signal = Platform.Signal()

  /// Makes a carrier whose thread performs every order with `perform`, until the order to leave.
  static func start(_ perform: @escaping @Sendable (Carrier, Order) -> Void) -> Carrier {
    let carrier = Carrier()
    Platform.startThread {
      carrier.state.withLock { $0.file = Platform.currentThreadFile }
      while true {
        let order = carrier.take()
        if case .leave = order { return }
        perform(carrier, order)
      }
    }
    return carrier
  }

  /// Whether the carrier's thread sleeps in the kernel; `nil` if that is not known.
  var isSleeping: Bool? { Platform.isSleeping(state.withLock { $0.file }) }

  /// The address on the carrier's stack from which the depth of a job's calls is measured.
  var stackBase: UInt {
    get { state.withLock { $0.stackBase } }
    set {
      state.withLock { state in
        state.stackBase = newValue
        state.stackStart = max(state.stackStart, newValue)
      }
    }
  }

  /// Whether the stack has room for further jobs on top of jobs that never go on.
  var hasRoom: Bool { state.withLock { $0.stackStart - $0.stackBase < Platform.stackSize / 2 } }

  func give(_ order: Order) {
    state.withLock { $0.orders.append(order) }
    signal.give()
  }

  /// Blocks the thread until there is an order.
  func take() -> Order {
    signal.wait()
    return state.withLock { $0.orders.removeFirst() }
  }

  /// Blocks the thread until the parked job goes on.
  ///
  /// A carrier of an abandoned schedule never goes on, and runs jobs of later schedules instead.
  func waitUntilGoingOn() {
    while true {
      switch take() {
      case .goOn: return
      case .run(let job, let executor): executor.carry(job, on: self)
      case .host, .look, .leave: break
      }
    }
  }
}
