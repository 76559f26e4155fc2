import Foundation
import Synchronization

/// An object that suspends, resumes and signals a running program.
///
/// Each function affects the entire process group of the program and has no effect once the procedure has finished.
public final class ProcessControl: Sendable {
  private struct State {
    var isStopping = false
    var isCollected = false
  }

  /// The ID of the process, which is also the ID of its process group.
  public let processIdentifier: Int32
  private let state = Mutex(State())

  init(_ processIdentifier: Int32) {
    self.processIdentifier = processIdentifier
  }

  /// Suspends the program until it is resumed. A suspended program keeps its slot.
  ///
  /// - Returns: Whether the program, or another process in its group, still existed.
  @discardableResult public func suspend() -> Bool { send(SIGSTOP) }

  /// Resumes a suspended program.
  ///
  /// - Returns: Whether the program, or another process in its group, still existed.
  @discardableResult public func resume() -> Bool { send(SIGCONT) }

  /// Sends a signal.
  ///
  /// - Parameter signal: The number of the signal, for example `SIGHUP`.
  /// - Returns: Whether the program, or another process in its group, still existed.
  @discardableResult public func send(_ signal: Int32) -> Bool {
    // The lock is held so that no signal is sent after `collect`, because the system may have given the ID to another process by that time.
    state.withLock { !$0.isCollected && kill(-processIdentifier, signal) == 0 }
  }

  // MARK: For the procedure

  /// Asks the program and the rest of its group to end. Returns `false` if they have already been asked, or if the procedure has finished.
  func stop() -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isStopping = true }
      return !state.isStopping
    }
    // The signal is sent only once, because a program may interpret a second one as a request to quit immediately. A suspended program is
    // resumed so that it receives the signal.
    return isFirst && send(SIGTERM) && send(SIGCONT)
  }

  /// Returns the final status of the program, and lets the system reuse the program's ID. If `stop` was called before, the rest of the
  /// program's group is killed first.
  ///
  /// Until this call, the system does not reuse the ID, so no signal is sent to an unrelated process. This is not guaranteed if other code
  /// in this process collects the status or ignores SIGCHLD. The status is then lost, and the function returns `nil`.
  func collect() -> ProcessStatus? {
    state.withLock { state in
      if state.isStopping { kill(-processIdentifier, SIGKILL) }
      state.isCollected = true
      var status: Int32 = 0
      while waitpid(processIdentifier, &status, 0) < 0 {
        guard errno == EINTR else { return nil }
      }
      let signal = status & 0x7f
      return signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
    }
  }
}
