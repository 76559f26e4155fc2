import Foundation
import Synchronization

/// The means to suspend, resume and signal a program that executes.
///
/// Each function reaches the program's whole process group, and does nothing once the program has ended.
public final class ProcessControl: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = false
  }

  /// The id of the process, which is also the id of its process group.
  public let processIdentifier: Int32
  private let state = Mutex(State())

  init(_ processIdentifier: Int32) {
    self.processIdentifier = processIdentifier
  }

  /// Stops the program until it is resumed. A suspended program keeps its slot.
  ///
  /// - Returns: Whether the program was there.
  @discardableResult public func suspend() -> Bool { send(SIGSTOP) }

  /// Lets a suspended program go on.
  ///
  /// - Returns: Whether the program was there.
  @discardableResult public func resume() -> Bool { send(SIGCONT) }

  /// Sends a signal.
  ///
  /// - Parameter signal: The number of the signal, `SIGHUP` for example.
  /// - Returns: Whether the program was there.
  @discardableResult public func send(_ signal: Int32) -> Bool {
    // Under the lock, so that no signal follows the end: the system gives the id to other processes then.
    state.withLock { !$0.hasEnded && kill(-processIdentifier, signal) == 0 }
  }

  // MARK: For the procedure

  /// Asks the program to end. Returns `false` if it has ended.
  func stop() -> Bool {
    state.withLock { $0.isStopping = true }
    // A suspended program receives the signal when it goes on.
    return send(SIGTERM) && send(SIGCONT)
  }

  /// The program has ended. If it was stopped, the processes that it has started and that are still there are killed.
  func ended() {
    state.withLock { state in
      if state.isStopping { kill(-processIdentifier, SIGKILL) }
      state.hasEnded = true
    }
  }
}
