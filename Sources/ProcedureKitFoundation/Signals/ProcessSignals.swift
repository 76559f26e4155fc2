#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Synchronization

  /// An asynchronous sequence of the signals that the process receives.
  ///
  /// Create the sequence before you start the work that a signal should stop. Once the sequence exists, the signals no longer have their
  /// usual effect, such as ending the process. Signals that arrive before the first iteration are not lost:
  ///
  /// ```swift
  /// let signals = ProcessSignals(.interrupt, .terminate)
  /// async let downloads: Void = download()
  /// for await signal in signals {
  ///   print("\(signal): finishing what is executing")
  ///   break
  /// }
  /// ```
  ///
  /// To stop the work at the first signal and end the process immediately at the second, use ``cancelling(_:)``:
  ///
  /// ```swift
  /// let signals = ProcessSignals(.interrupt, .terminate) { signal, count in
  ///   if count > 1 { exit(signal.exitStatus) }
  /// }
  /// await signals.cancelling { await download() }
  /// if let signal = signals.first { exit(signal.exitStatus) }
  /// ```
  ///
  /// Any number of sequences can exist simultaneously, and each of them receives every signal. Create a sequence for each consumer. If two
  /// tasks iterate over the same sequence, each signal reaches only one of them. A sequence buffers the latest 64 signals that its consumer
  /// has not read yet. Cancelling the task that is iterating over a sequence ends the sequence. When the last sequence for a signal is
  /// released or stopped, the signal's previous action is restored.
  ///
  /// If the same signal arrives twice in quick succession, the sequence may receive it only once. The system keeps at most one pending
  /// instance of each signal. A signal that is being ignored when the sequence is created stays ignored, and the sequence never receives
  /// it. For example, `nohup` ignores `SIGHUP`. A shell without job control ignores `SIGINT` and `SIGQUIT` for its background jobs, so
  /// Ctrl-C does not end them. To receive such a signal anyway, call `signal(SIGINT, SIG_DFL)` first. If the parent process blocked a
  /// signal, the sequence unblocks the signal permanently. The signals keep their usual effect in processes that this process starts.
  public final class ProcessSignals: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = ProcessSignal
    /// The error type: `Never`, because iterating does not throw.
    public typealias Failure = Never

    /// An iterator over the signals that a sequence receives.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private let signals: ProcessSignals
      private var elements: AsyncStream<ProcessSignal>.Iterator

      fileprivate init(_ signals: ProcessSignals) {
        (self.signals, elements) = (signals, signals.inbox.elements.makeAsyncIterator())
      }

      /// Waits for the next signal.
      ///
      /// - Returns: The signal; `nil` if the sequence has ended because ``ProcessSignals/stop()`` was called or the task was cancelled.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> ProcessSignal? {
        await elements.next(isolation: actor)
      }

      /// Waits for the next signal.
      ///
      /// - Returns: The signal; `nil` if the sequence has ended because ``ProcessSignals/stop()`` was called or the task was cancelled.
      public mutating func next() async -> ProcessSignal? {
        await elements.next(isolation: nil)
      }
    }

    /// A buffer for the signals that one sequence receives.
    final class Inbox: Sendable {
      private struct State {
        var first: ProcessSignal?
        var count = 0
        var cancellations: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
      }

      let elements: AsyncStream<ProcessSignal>
      private let continuation: AsyncStream<ProcessSignal>.Continuation
      private let handler: (@Sendable (ProcessSignal, Int) -> Void)?
      private let state = Mutex(State())

      init(_ handler: (@Sendable (ProcessSignal, Int) -> Void)?) {
        self.handler = handler
        (elements, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
      }

      var first: ProcessSignal? { state.withLock { $0.first } }

      /// Delivers a signal. This function is called on the thread that receives signals.
      func received(_ signal: ProcessSignal) {
        let (count, cancellations) = state.withLock { state in
          state.first = state.first ?? signal
          state.count += 1
          return (state.count, state.count == 1 ? Array(state.cancellations.values) : [])
        }
        handler?(signal, count)
        for cancel in cancellations { cancel() }
        continuation.yield(signal)
      }

      func finish() { continuation.finish() }

      /// Registers a function that is called when the first signal arrives, or immediately if a signal has already arrived.
      ///
      /// - Returns: A number that is used to remove the function.
      func onFirst(_ cancel: @escaping @Sendable () -> Void) -> Int {
        let (id, isLate) = state.withLock { state in
          state.nextID += 1
          state.cancellations[state.nextID] = cancel
          return (state.nextID, state.first != nil)
        }
        if isLate { cancel() }
        return id
      }

      func remove(_ id: Int) { state.withLock { $0.cancellations[id] = nil } }
    }

    private let signals: [ProcessSignal]
    fileprivate let inbox: Inbox

    /// Starts receiving signals. Once the initializer returns, no signal is missed.
    ///
    /// - Parameters:
    ///   - signals: The signals to receive. Passing a signal that no process can receive, such as `SIGKILL`, traps.
    ///   - onReceive: A closure that is called for each signal. Its second argument is the number of signals that this sequence has
    ///     received so far, including this one. The closure runs on a thread that is used only for signals, so it is called even if every
    ///     other thread is busy or blocked. Later signals are delivered after the closure returns.
    public convenience init(
      _ signals: ProcessSignal..., onReceive: (@Sendable (_ signal: ProcessSignal, _ count: Int) -> Void)? = nil
    ) {
      self.init(signals, onReceive: onReceive)
    }

    /// Starts receiving signals. Once the initializer returns, no signal is missed.
    ///
    /// - Parameters:
    ///   - signals: The signals to receive. Passing a signal that no process can receive, such as `SIGKILL`, traps.
    ///   - onReceive: A closure that is called for each signal. Its second argument is the number of signals that this sequence has
    ///     received so far, including this one. The closure runs on a thread that is used only for signals, so it is called even if every
    ///     other thread is busy or blocked. Later signals are delivered after the closure returns.
    public init(
      _ signals: [ProcessSignal], onReceive: (@Sendable (_ signal: ProcessSignal, _ count: Int) -> Void)? = nil
    ) {
      self.signals = signals
      inbox = Inbox(onReceive)
      SignalReceiver.shared.add(inbox, for: signals)
    }

    deinit { stop() }

    /// The first signal that arrived; `nil` if no signal has arrived yet.
    public var first: ProcessSignal? { inbox.first }

    /// Stops receiving signals. The iteration still returns the signals that have already arrived and then ends.
    ///
    /// If no other sequence receives a signal, the signal's previous action is restored. Usually, that action is to terminate the process.
    public func stop() {
      SignalReceiver.shared.remove(inbox, for: signals)
      inbox.finish()
    }

    /// Returns an iterator over the signals.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Executes an operation and cancels it when the first signal arrives.
    ///
    /// If a signal has already arrived, the operation is cancelled as soon as it starts. The cancellation happens on the thread that
    /// receives signals, so it takes effect even if all threads that run tasks are busy. The function returns when the operation finishes.
    /// Cancelling the caller cancels the operation.
    ///
    /// - Parameter operation: The operation. To find out afterwards whether a signal cancelled it, use ``first``.
    /// - Returns: The result of the operation.
    /// - Throws: The error thrown by the operation.
    public func cancelling<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async rethrows
      -> Value
    {
      // The operation runs in a separate task, because only a separate task can be cancelled from another thread. This function awaits the
      // task and cancels it if the caller is cancelled.
      let task = Task { try await operation() }
      let id = inbox.onFirst { task.cancel() }
      defer { inbox.remove(id) }
      let result = await withTaskCancellationHandler {
        await task.result
      } onCancel: {
        task.cancel()
      }
      switch result {
      case .success(let value): return value
      case .failure(let error):
        // The error comes from the operation, so this function throws only if the operation does, as `rethrows` promises.
        return try { throw error }()
      }
    }
  }
#endif
