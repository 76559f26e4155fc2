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
    let signals = Mutex(Signals())
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// - Parameter cancel: Called for the first signal, from any thread.
  init(cancel: @escaping @Sendable () -> Void) {
    // A queue of its own has a thread of its own: those of the global queues may all be busy with pictures.
    let queue = DispatchQueue(label: "kitten.interruption")
    sources = [SIGINT, SIGTERM].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        let answer = received.signals.withLock { $0.received(number, count: source.data) }
        if answer == .end { _exit(128 + number) }
        if Console.isTerminal { Console.print("\r\u{1b}[K", terminator: "") }
        Console.printError("stopping …; once more ends at once, and may leave a part of a file")
        cancel()
      }
      source.resume()
      return source
    }
  }

  /// The first signal that came, if one did.
  var signal: Int32? { received.signals.withLock { $0.first } }
}
