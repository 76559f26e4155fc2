import Foundation
import Synchronization

/// Turns Ctrl-C, and polite requests to terminate, into a cancel. The second one kills.
///
/// The main thread waits for the signals. A signal source of Dispatch would be woken by the signal that tells the end of a command, too, and
/// so would a main thread that waits in Dispatch: two threads for each command.
final class Interruption: Sendable {
  private struct State {
    var first: Int32?
    var kill: (@Sendable () -> Void)?
    var cancel: (@Sendable () -> Void)?
  }

  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  private let state = Mutex(State())

  /// Blocks the signals in this thread, and in those that it starts. To be called before there are others.
  init() {
    var signals = Self.set(Self.numbers + [SIGCHLD])
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// The first signal that came after `begin`, if one did.
  var signal: Int32? { state.withLock { $0.first } }

  /// Begins to note signals, before anything runs that could be interrupted. Until then the first one ends the process.
  ///
  /// - Parameter kill: Called for the second signal, before the process ends.
  func begin(kill: @escaping @Sendable () -> Void) {
    state.withLock { $0.kill = kill }
  }

  /// Has `cancel` called for the first signal, in the main thread; at once, if there was one.
  func onFirst(_ cancel: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.cancel = cancel
      return state.first != nil
    }
    if isLate { cancel() }
  }

  /// Waits for signals, until the process ends.
  func watch() -> Never {
    var signals = Self.set(Self.numbers)
    while true {
      var number: Int32 = 0
      if sigwait(&signals, &number) == 0 { received(number) }
    }
  }

  private func received(_ number: Int32) {
    let before = state.withLock { state in
      defer { if state.kill != nil { state.first = state.first ?? number } }
      return state
    }
    guard before.first == nil, before.kill != nil else {
      before.kill?()
      _exit(128 + number)
    }
    Console.printError("stopping …; once more kills what runs")
    before.cancel?()
  }

  private static func set(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    return set
  }
}
