import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C, and a polite request to terminate, into a cancellation. The second one ends the process.
struct Interruption {
  /// What a signal leads to.
  enum Answer: Equatable {
    /// The job is cancelled, and the process ends when the job has.
    case stop
    /// The process ends at once.
    case end
  }

  /// The signals so far.
  struct Signals {
    /// The first signal that came, if one did.
    private(set) var first: Int32?

    /// Notes signals that came at once; several are one event.
    ///
    /// - Parameters:
    ///   - number: The signal.
    ///   - count: How many of them came since the last call.
    /// - Returns: The answer.
    mutating func received(_ number: Int32, count: UInt) -> Answer {
      let isFirst = first == nil
      if isFirst { first = number }
      return isFirst && count == 1 ? .stop : .end
    }
  }

  private final class Received: Sendable {
    private struct State {
      var signals = Signals()
      var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    var first: Int32? { state.withLock { $0.signals.first } }

    func note(_ number: Int32, count: UInt) -> Answer {
      state.withLock { $0.signals.received(number, count: count) }
    }

    /// Has `cancel` called for the first signal: at once, if there was one.
    func onFirst(_ cancel: @escaping @Sendable () -> Void) {
      let isLate = state.withLock { state in
        state.cancel = cancel
        return state.signals.first != nil
      }
      if isLate { cancel() }
    }

    func cancel() { state.withLock { $0.cancel }?() }
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// Begins to receive the signals, which is before anything runs that could be interrupted.
  init() {
    // A queue of its own has a thread of its own: those of the global queues may all be busy with pictures.
    let queue = DispatchQueue(label: "kitten.interruption")
    let registered = DispatchSemaphore(value: 0)
    sources = [SIGINT, SIGTERM].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        if received.note(number, count: source.data) == .end { _exit(128 + number) }
        if Console.isTerminal { Console.print("\r\u{1b}[K", terminator: "") }
        Console.printError("stopping …; once more ends at once, and may leave a part of a file")
        received.cancel()
      }
      source.setRegistrationHandler { registered.signal() }
      source.resume()
      return source
    }
    // A signal before the registration would be lost.
    for _ in sources { registered.wait() }
  }

  /// The first signal that came, if one did.
  var signal: Int32? { received.first }

  /// Has `cancel` called for the first signal, from any thread.
  func onFirst(_ cancel: @escaping @Sendable () -> Void) { received.onFirst(cancel) }
}
