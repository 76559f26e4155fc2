#if canImport(FoundationNetworking)
  import Dispatch
  import Synchronization

  /// Slows down the waiting of a session, on Linux.
  ///
  /// There, a connection that waits for its response is reported as writable again and again (swift-corelibs-foundation 6.3), and one
  /// request that waits takes a whole core. So libcurl's queue is suspended between two looks when nothing has come for a while: a
  /// response is seen up to 5 ms later, for a few hundredths of a core. While data comes, nothing is suspended.
  final class IdleBrake: Sendable {
    private struct State {
      var isRunning = false
      /// The activity at the look before.
      var activity = 0
      /// How many looks in a row have seen nothing new.
      var idleLooks = 0
    }

    private static let interval = DispatchTimeInterval.milliseconds(5)
    private static let patience = 4

    private let transfers: DispatchQueue
    private let exchanges: SessionExchanges
    private let timer = DispatchQueue(label: "ProcedureKitNetwork.IdleBrake")
    private let state = Mutex(State())

    init(_ transfers: DispatchQueue, _ exchanges: SessionExchanges) {
      self.transfers = transfers
      self.exchanges = exchanges
    }

    /// An exchange has been added. The looks go on until there is none.
    func start() {
      let isFirst = state.withLock { state in
        defer { state.isRunning = true }
        return !state.isRunning
      }
      if isFirst { lookLater(isSuspended: false) }
    }

    private func lookLater(isSuspended: Bool) {
      timer.asyncAfter(deadline: .now() + Self.interval) { [self] in
        if isSuspended { transfers.resume() }
        // Behind the callbacks that are due, so that each of these has its turn between two looks.
        transfers.async { self.look() }
      }
    }

    /// Called on libcurl's queue.
    private func look() {
      let isIdle: Bool? = state.withLock { state in
        guard let activity = exchanges.activity else {
          state = State()
          return nil
        }
        state.idleLooks = activity == state.activity ? state.idleLooks + 1 : 0
        state.activity = activity
        return state.idleLooks > Self.patience
      }
      guard let isIdle else { return }
      if isIdle { transfers.suspend() }
      lookLater(isSuspended: isIdle)
    }
  }
#endif
