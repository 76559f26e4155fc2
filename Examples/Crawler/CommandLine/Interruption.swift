import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C, and a polite request to terminate, into a cancellation. The second signal ends the process.
struct Interruption {
  private final class Received: Sendable {
    let first = Mutex<Int32?>(nil)
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// - Parameter cancel: Called for the first signal, from any thread.
  init(cancel: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "crawler.interruption")
    sources = [SIGINT, SIGTERM].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        let isFirst = received.first.withLock { first in
          defer { first = first ?? number }
          return first == nil
        }
        if !isFirst { _exit(128 + number) }
        Console.printError("stopping …; once more ends at once")
        cancel()
      }
      source.resume()
      return source
    }
  }

  /// The first signal, if one has come.
  var signal: Int32? { received.first.withLock { $0 } }
}
