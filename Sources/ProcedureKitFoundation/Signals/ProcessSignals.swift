#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Synchronization

  /// The signals that the process receives, as an asynchronous sequence.
  ///
  /// Create the sequence before starting the work that a signal should stop. From then on, the signals no longer have their usual effect,
  /// such as ending the process, and none is lost between the creation of the sequence and the first iteration:
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
  /// If the first signal should stop the work, and the second should end the process immediately, use ``cancelling(_:)``:
  ///
  /// ```swift
  /// let signals = ProcessSignals(.interrupt, .terminate) { signal, count in
  ///   if count > 1 { exit(signal.exitStatus) }
  /// }
  /// await signals.cancelling { await download() }
  /// if let signal = signals.first { exit(signal.exitStatus) }
  /// ```
  ///
  /// Any number of sequences can exist at the same time, and each receives every signal. Create one for each consumer: if two tasks iterate
  /// over the same sequence, each signal goes to only one of them. A sequence keeps the newest 64 signals that its consumer has not read
  /// yet. Cancelling the task that iterates over a sequence ends the sequence. When the last sequence for a signal is released or stopped,
  /// the signal's previous action is restored.
  ///
  /// Two signals of the same kind that arrive at almost the same time can count as one, because the system keeps at most one of each kind.
  /// A signal that is ignored when the sequence is created stays ignored, and the sequence never receives it: `nohup` ignores `SIGHUP`, and
  /// a shell without job control ignores `SIGINT` and `SIGQUIT` for its background jobs, which is why Ctrl-C does not end them. To receive
  /// such a signal nevertheless, call `signal(SIGINT, SIG_DFL)` first. A signal that the parent of this process has blocked is also
  /// received, and stays unblocked. Processes that this process starts are not affected: signals have their usual effect there.
  public final class ProcessSignals: AsyncSequence, Sendable {
    /// A signal.
    public typealias Element = ProcessSignal
    /// Iterating never throws.
    public typealias Failure = Never

    /// Iterates over the signals that a sequence has received.
    public struct AsyncIterator: AsyncIteratorProtocol {
      private let signals: ProcessSignals
      private var elements: AsyncStream<ProcessSignal>.Iterator

      fileprivate init(_ signals: ProcessSignals) {
        (self.signals, elements) = (signals, signals.inbox.elements.makeAsyncIterator())
      }

      /// Waits for the next signal.
      ///
      /// - Returns: The signal, or `nil` after ``ProcessSignals/stop()`` or if the task is cancelled.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> ProcessSignal? {
        await elements.next(isolation: actor)
      }

      /// Waits for the next signal.
      ///
      /// - Returns: The signal, or `nil` after ``ProcessSignals/stop()`` or if the task is cancelled.
      public mutating func next() async -> ProcessSignal? {
        await elements.next(isolation: nil)
      }
    }

    /// Receives the signals of one sequence.
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

      /// Delivers a signal, on the thread that receives signals.
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

      /// Registers a function that is called at the first signal, or immediately if there has already been one.
      ///
      /// - Returns: The number that identifies the function when it is removed.
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

    /// Starts to receive signals. Once the initializer has returned, no signal is missed.
    ///
    /// - Parameters:
    ///   - signals: The signals. A signal that no process can receive, such as `SIGKILL`, is a programming error and traps.
    ///   - onReceive: Called for each signal, with the number of signals that this sequence has received, including this one. It is called
    ///     on a thread that exists only for this purpose, so it is called even if every other thread is busy or blocked. Later signals wait
    ///     until it returns.
    public convenience init(
      _ signals: ProcessSignal..., onReceive: (@Sendable (_ signal: ProcessSignal, _ count: Int) -> Void)? = nil
    ) {
      self.init(signals, onReceive: onReceive)
    }

    /// Starts to receive signals. Once the initializer has returned, no signal is missed.
    ///
    /// - Parameters:
    ///   - signals: The signals. A signal that no process can receive, such as `SIGKILL`, is a programming error and traps.
    ///   - onReceive: Called for each signal, with the number of signals that this sequence has received, including this one. It is called
    ///     on a thread that exists only for this purpose, so it is called even if every other thread is busy or blocked. Later signals wait
    ///     until it returns.
    public init(
      _ signals: [ProcessSignal], onReceive: (@Sendable (_ signal: ProcessSignal, _ count: Int) -> Void)? = nil
    ) {
      self.signals = signals
      inbox = Inbox(onReceive)
      SignalReceiver.shared.add(inbox, for: signals)
    }

    deinit { stop() }

    /// The first signal that arrived; `nil` if there has been none.
    public var first: ProcessSignal? { inbox.first }

    /// Stops receiving signals, and ends the iteration after the signals that have already arrived.
    ///
    /// If no other sequence receives a signal, its previous action is restored: usually, the signal ends the process.
    public func stop() {
      SignalReceiver.shared.remove(inbox, for: signals)
      inbox.finish()
    }

    /// Starts to iterate over the signals.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Executes an operation, and cancels it at the first signal.
    ///
    /// If a signal has already arrived, the operation is cancelled from the start. The cancellation comes from the thread that receives
    /// signals, so it reaches the operation even if the operation's own threads are busy. The function returns when the operation has
    /// ended. Cancelling the caller cancels the operation.
    ///
    /// - Parameter operation: The operation. To find out afterwards whether a signal stopped it, see ``first``.
    /// - Returns: The result of the operation.
    /// - Throws: The error thrown by the operation.
    public func cancelling<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async rethrows
      -> Value
    {
      // A separate task is used because only such a task can be cancelled from another thread. It is awaited here, and cancelled with the
      // caller.
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
        // Only the operation throws, so this statement throws only where the operation can.
        return try { throw error }()
      }
    }
  }
#endif
