import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C, and polite requests to terminate, into a cancel. The second one kills.
struct Interruption {
  private final class Received: Sendable {
    let first = Mutex<Int32?>(nil)

    /// Notes a signal. Returns whether it is the first one.
    func note(_ signal: Int32) -> Bool {
      first.withLock { first in
        defer { first = first ?? signal }
        return first == nil
      }
    }
  }

  private let received = Received()
  private let sources: [any DispatchSourceSignal]

  /// - Parameters:
  ///   - cancel: Called for the first signal, in any thread.
  ///   - kill: Called for the second signal, before the process ends.
  init(cancel: @escaping @Sendable () -> Void, kill: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "taskrunner.interruption")
    sources = [SIGINT, SIGTERM, SIGHUP].map { [received] number in
      // Otherwise the signal would end the process before the source sees it.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        guard received.note(number) else {
          kill()
          _exit(128 + number)
        }
        Console.printError("stopping …; once more kills what runs")
        cancel()
      }
      source.resume()
      return source
    }
  }

  /// The first signal that came, if one did.
  var signal: Int32? { received.first.withLock { $0 } }
}
