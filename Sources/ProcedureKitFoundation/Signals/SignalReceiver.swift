#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation
  import Synchronization

  /// Receives signals for every ``ProcessSignals`` of the process.
  ///
  /// A handler of the system writes the number of each signal into a pipe, which is one of the few things that a handler may do. A thread reads the
  /// pipe, and delivers. In contrast to a signal source of Dispatch, the signal is never set to be ignored, which child processes would inherit,
  /// and no other signal, such as the one for the end of a child, wakes a thread.
  final class SignalReceiver: Sendable {
    static let shared = SignalReceiver()

    private struct State {
      /// The receivers of each signal, in the order in which they were added.
      var inboxes: [Int32: [ProcessSignals.Inbox]] = [:]
      /// The effect that each received signal had before.
      var formerActions: [Int32: sigaction] = [:]
      var hasThread = false
    }

    private let state = Mutex(State())

    /// What the handler needs. Atomics: the handler can interrupt any thread at any point, so it must not lock anything.
    private struct Pipe: ~Copyable {
      let end = Atomic<Int32>(-1)
      let process = Atomic<Int32>(0)
    }

    private static let pipe = Pipe()
    /// The bit of a number in the pipe that asks the thread to unblock a signal. Without the bit, the number reports a signal.
    private static let unblocks: UInt8 = 0x80

    /// Begins to deliver signals to a receiver.
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

    /// Ends the delivery to a receiver. The last one for a signal restores the signal's former effect.
    func remove(_ inbox: ProcessSignals.Inbox, for signals: [ProcessSignal]) {
      state.withLock { state in
        for signal in signals {
          guard state.inboxes[signal.rawValue]?.contains(where: { $0 === inbox }) == true else { continue }
          state.inboxes[signal.rawValue]?.removeAll { $0 === inbox }
          guard state.inboxes[signal.rawValue]?.isEmpty == true else { continue }
          if var former = state.formerActions.removeValue(forKey: signal.rawValue) {
            sigaction(signal.rawValue, &former, nil)
          }
        }
      }
    }

    /// - Returns: Whether the signal is received; `false` if it has to stay ignored.
    private func install(_ signal: ProcessSignal, _ state: inout State) -> Bool {
      var former = sigaction()
      precondition(
        sigaction(signal.rawValue, nil, &former) == 0,
        "ProcessSignals cannot receive \(signal): the system has no such signal")
      // The parent ignores the signal on behalf of the program: `nohup` the end of the terminal, a shell Ctrl-C for its background jobs.
      if Self.isIgnored(former) { return false }
      var action = sigaction()
      sigfillset(&action.sa_mask)
      action.sa_flags = .init(SA_RESTART)
      Self.setHandler(of: &action)
      precondition(
        sigaction(signal.rawValue, &action, nil) == 0,
        "ProcessSignals cannot receive \(signal): the system does not deliver it")
      state.formerActions[signal.rawValue] = former
      // Threads inherit the signals that they block, so all may block this one. Until the thread has unblocked it, the system keeps the signal.
      var request = UInt8(truncatingIfNeeded: signal.rawValue) | Self.unblocks
      _ = write(Self.pipe.end.load(ordering: .acquiring), &request, 1)
      return true
    }

    private func startThread() {
      var ends: [Int32] = [-1, -1]
      precondition(
        Foundation.pipe(&ends) == 0, "ProcessSignals cannot make a pipe: \(String(cString: strerror(errno)))")
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      // A handler must not block. A pipe holds the numbers of thousands of signals.
      _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
      Self.pipe.process.store(getpid(), ordering: .relaxed)
      Self.pipe.end.store(ends[1], ordering: .releasing)
      let readEnd = ends[0]
      // Lives as long as the process: it costs one blocked thread, and starting another one for each sequence could miss a signal.
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

    /// Lets the calling thread receive a signal.
    private static func unblock(_ signal: Int32) {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, signal)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    private static func setHandler(of action: inout sigaction) {
      let handler: @convention(c) (Int32) -> Void = { number in
        let error = errno
        // Between `fork` and `exec`, a child still has the handler, and shares the pipe.
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
