#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation
  import Synchronization

  /// The object that receives signals for all ``ProcessSignals`` objects in the process.
  ///
  /// A signal handler writes each signal's number to a pipe. Writing to a pipe is one of the few things that a handler is allowed to do.
  /// A thread reads from the pipe and delivers the signals. A Dispatch signal source would require the process to ignore the signal, and
  /// child processes would inherit this setting. Such a source would also wake a thread for other signals, for example when a child process
  /// ends.
  final class SignalReceiver: Sendable {
    static let shared = SignalReceiver()

    private struct State {
      /// The receivers of each signal, in the order in which they were added.
      var inboxes: [Int32: [ProcessSignals.Inbox]] = [:]
      /// The action that was set for each received signal before the handler was installed.
      var previousActions: [Int32: sigaction] = [:]
      var hasThread = false
    }

    private let state = Mutex(State())

    /// The state that the signal handler uses. The handler can interrupt any thread at any point and must not acquire a lock, so the values
    /// are atomic.
    private struct Pipe: ~Copyable {
      let end = Atomic<Int32>(-1)
      let process = Atomic<Int32>(0)
    }

    private static let pipe = Pipe()
    /// The bit that distinguishes the two meanings of a byte in the pipe. If the bit is set, the byte is a request to unblock a signal.
    /// Otherwise, the byte reports a signal.
    private static let unblocks: UInt8 = 0x80

    /// Starts delivering signals to a receiver.
    func add(_ inbox: ProcessSignals.Inbox, for signals: [ProcessSignal]) {
      state.withLock { state in
        if !state.hasThread {
          state.hasThread = true
          startThread()
        }
        for signal in Set(signals) {
          if state.inboxes[signal.rawValue, default: []].isEmpty {
            guard install(signal, &state) else { continue }
          }
          state.inboxes[signal.rawValue, default: []].append(inbox)
        }
      }
    }

    /// Stops delivering signals to a receiver. If a signal has no receivers left, its previous action is restored.
    func remove(_ inbox: ProcessSignals.Inbox, for signals: [ProcessSignal]) {
      state.withLock { state in
        for signal in signals {
          guard state.inboxes[signal.rawValue]?.contains(where: { $0 === inbox }) == true else { continue }
          state.inboxes[signal.rawValue]?.removeAll { $0 === inbox }
          guard state.inboxes[signal.rawValue]?.isEmpty == true else { continue }
          if var previous = state.previousActions.removeValue(forKey: signal.rawValue) {
            sigaction(signal.rawValue, &previous, nil)
          }
        }
      }
    }

    /// Installs the signal handler for a signal, unless the process ignores the signal.
    ///
    /// - Returns: Whether the signal will be received; `false` if the process ignores it.
    private func install(_ signal: ProcessSignal, _ state: inout State) -> Bool {
      var previous = sigaction()
      precondition(
        sigaction(signal.rawValue, nil, &previous) == 0,
        "ProcessSignals cannot receive \(signal): the system has no such signal")
      // The parent process deliberately ignores the signal: `nohup` ignores SIGHUP, and a shell ignores SIGINT for its background jobs.
      if Self.isIgnored(previous) { return false }
      var action = sigaction()
      sigfillset(&action.sa_mask)
      action.sa_flags = .init(SA_RESTART)
      Self.setHandler(of: &action)
      precondition(
        sigaction(signal.rawValue, &action, nil) == 0,
        "ProcessSignals cannot receive \(signal): the system does not deliver it")
      state.previousActions[signal.rawValue] = previous
      // Threads inherit the set of blocked signals, so this signal may be blocked on every thread. If it is, the system does not deliver
      // the signal until the receiving thread has unblocked it.
      var request = UInt8(truncatingIfNeeded: signal.rawValue) | Self.unblocks
      _ = write(Self.pipe.end.load(ordering: .acquiring), &request, 1)
      return true
    }

    private func startThread() {
      var ends: [Int32] = [-1, -1]
      precondition(
        Foundation.pipe(&ends) == 0, "ProcessSignals could not create a pipe: \(String(cString: strerror(errno)))")
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      // The handler must not block. The pipe can hold thousands of bytes, each of which represents a signal.
      _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
      Self.pipe.process.store(getpid(), ordering: .relaxed)
      Self.pipe.end.store(ends[1], ordering: .releasing)
      let readEnd = ends[0]
      // The thread never ends, which costs one blocked thread. If each sequence started its own thread instead, a signal could be missed.
      let thread = Thread { [self] in
        var number: UInt8 = 0
        while true {
          guard read(readEnd, &number, 1) == 1 else {
            guard errno == EINTR else { return }
            continue
          }
          guard number & Self.unblocks == 0 else {
            Self.unblock(Int32(number & ~Self.unblocks))
            continue
          }
          let signal = ProcessSignal(rawValue: Int32(number))
          for inbox in state.withLock({ $0.inboxes[signal.rawValue] ?? [] }) { inbox.received(signal) }
        }
      }
      thread.name = "ProcessSignals"
      thread.start()
    }

    /// Unblocks a signal on the calling thread.
    private static func unblock(_ signal: Int32) {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, signal)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func setHandler(of action: inout sigaction) {
      let handler: @convention(c) (Int32) -> Void = { number in
        let error = errno
        // Between `fork` and `exec`, a child process still has this handler and shares the pipe, but must not write to it.
        if getpid() == SignalReceiver.pipe.process.load(ordering: .relaxed) {
          var byte = UInt8(truncatingIfNeeded: number)
          _ = write(SignalReceiver.pipe.end.load(ordering: .acquiring), &byte, 1)
        }
        errno = error
      }
      #if canImport(Glibc) || canImport(Musl)
        action.__sigaction_handler.sa_handler = handler
      #elseif canImport(Android)
        action.sa_handler = handler
      #else
        action.__sigaction_u.__sa_handler = handler
      #endif
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
      #if canImport(Glibc) || canImport(Musl)
        let handler = action.__sigaction_handler.sa_handler
      #elseif canImport(Android)
        let handler = action.sa_handler
      #else
        let handler = action.__sigaction_u.__sa_handler
      #endif
      return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
  }
#endif
