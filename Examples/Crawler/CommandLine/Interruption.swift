import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C, and a polite request to terminate, into a cancellation. The second signal ends the process.
struct Interruption {
  private final class Received: Sendable {
    private struct State {
      var first: Int32?
      var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var first: Int32? { state.withLock { $0.first } }

    /// Notes a signal. Returns whether it is the first one.
    func note(_ signal: Int32) -> Bool {
      state.withLock { state in
        defer { state.first = state.first ?? signal }
        return state.first == nil
      }
    }

    /// Has `cancel` called for the first signal: at once, if there was one.
    func onFirst(_ cancel: @escaping @Sendable () -> Void) {
      let isLate = state.withLock { state in
        state.cancel = cancel
        return state.first != nil
      }
      if isLate { cancel() }
    }

    func cancel() { state.withLock { $0.cancel }?() }
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// Begins to receive the signals, which is before anything runs that could be interrupted.
  init() {
    let queue = DispatchQueue(label: "crawler.interruption")
    let registered = DispatchSemaphore(value: 0)
    sources = [SIGINT, SIGTERM].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        if !received.note(number) { _exit(128 + number) }
        Console.printError("stopping …; once more ends at once")
        received.cancel()
      }
      source.setRegistrationHandler { registered.signal() }
      source.resume()
      return source
    }
    // A signal before the registration would be lost.
    for _ in sources { registered.wait() }
  }

  /// The first signal, if one has come.
  var signal: Int32? { received.first }

  /// Has `cancel` called for the first signal, from any thread.
  func onFirst(_ cancel: @escaping @Sendable () -> Void) { received.onFirst(cancel) }
}
