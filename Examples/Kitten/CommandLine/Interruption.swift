import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C, and a polite request to terminate, into a cancellation.
///
/// As long as it exists, neither ends the process.
struct Interruption {
  private final class Received: Sendable {
    let signal = Mutex<Int32?>(nil)
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// - Parameter cancel: Called for each signal, from any thread.
  init(cancel: @escaping @Sendable () -> Void) {
    // A queue of its own has a thread of its own: those of the global queues may all be busy with pictures.
    let queue = DispatchQueue(label: "kitten.interruption")
    sources = [SIGINT, SIGTERM].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        received.signal.withLock { $0 = $0 ?? number }
        cancel()
      }
      source.resume()
      return source
    }
  }

  /// The first signal that came, if one did.
  var signal: Int32? { received.signal.withLock { $0 } }
}
