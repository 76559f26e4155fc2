public import ProcedureKit

/// A progress display for queues. On a terminal, it keeps updating the last line. To any other output, it writes line after line.
///
/// ```swift
/// let progress = TerminalProgress()
/// let report = try await progress.show(queue) { try await queue.run(job) }
/// ```
///
/// On a terminal, the last line shows how many procedures have ended and how many are executing. It also lists the names of the executing
/// procedures, beginning with the one that started first. If a procedure reports progress, its name is followed by the completed
/// percentage. Failures and their reasons stay above this line:
///
/// ```
/// [ 7/23] load torn: failed
///     torn.ppm is truncated
/// [12/23] 2 running, 1 failed: resize cat-64.png 45%, write kitten-256.png
/// ```
///
/// In a file or a pipe, and on a terminal with `TERM=dumb`, a line is written for each procedure that has finished or failed. For every
/// kind of output, ``finish()`` writes a summary. The nodes of a graph are counted. The graph itself is counted only if it failed but none
/// of its nodes did. A ``RunReport`` and a ``Timeline`` count runs in the same way.
///
/// The queues never wait for the output. If a terminal is too slow, or the user has paused its output, events can be lost. The summary
/// shows how many were lost. Names and errors are shown without control characters. The cursor is never hidden, so a process that is killed
/// leaves at most an unfinished line behind.
public final class TerminalProgress: ProcedureLogHandler {
  private let screen: TerminalScreen
  private let readers = FeedReaders(priority: .high)
  private let changes: AsyncStream<Void>.Continuation
  private let drawing: Task<Void, Never>
  private let clock: any Clock<Duration>
  private let interval: Duration

  /// Creates a progress display that does not show anything yet.
  ///
  /// - Parameters:
  ///   - output: The output. A command-line tool usually writes results to standard output and progress to standard error.
  ///   - showsFailures: Whether each failure is shown, followed by its reason. If your code reports failures itself, pass `false`, so that
  ///     each failure is reported only once. Failures are counted in either case.
  ///   - interval: The time between two updates of the status.
  ///   - clock: The clock that measures the interval and the time in the summary.
  public init(
    on output: TerminalOutput = .standardError, showsFailures: Bool = true,
    every interval: Duration = .milliseconds(100), clock: any Clock<Duration> = ContinuousClock()
  ) {
    let screen = TerminalScreen(output, showsFailures: showsFailures, elapsed: Self.stopwatch(clock))
    let (stream, changes) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let interval = interval.saturated
    (self.screen, self.changes, self.clock, self.interval) = (screen, changes, clock, interval)
    // The task ends when this object is deallocated or `finish` is called. Its priority is higher than that of procedures, so that progress
    // is shown promptly even if procedures keep all threads busy.
    drawing = ReaderTask.start(priority: .high) {
      for await _ in stream where !Task.isCancelled {
        await screen.draw()
        try? await clock.sleep(for: interval)
      }
      await screen.end()
    }
  }

  deinit {
    drawing.cancel()
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// Starts showing the procedures on a queue. They are shown until ``finish()`` is called. Calling this function after ``finish()`` has no
  /// effect.
  ///
  /// - Parameter queue: The queue, which is not retained. Several queues can be shown together.
  public func show(_ queue: ProcedureQueue) {
    show(queue.feed())
  }

  func show(_ feed: QueueFeed) {
    readers.read(feed) { [screen, changes, clock, interval] number in
      while let event = await feed.next() {
        screen.take(event, of: number)
        changes.yield()
        while screen.isFull { try? await clock.sleep(for: interval) }
      }
    }
  }

  /// Shows the procedures on a queue while a function executes, and then calls ``finish()``, even if the function throws an error.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - body: The function.
  /// - Returns: The result of the function.
  /// - Throws: The error thrown by the function.
  public func show<Success>(
    _ queue: ProcedureQueue, while body: nonisolated(nonsending) () async throws -> Success
  ) async rethrows -> Success {
    show(queue)
    do {
      let result = try await body()
      await finish()
      return result
    } catch {
      await finish()
      throw error
    }
  }

  /// Writes text above the status, on separate lines. Calling this function after ``finish()`` has no effect.
  ///
  /// If your code writes to the same terminal in any other way, its text can overlap the status. While the user has paused the terminal's
  /// output, for example with Control-S, up to a megabyte of text is kept. Any additional text is lost, and the summary reports the loss.
  ///
  /// - Parameter text: The text, which can have several lines. Control characters are replaced with spaces.
  public func print(_ text: String) {
    _ = screen.print(text)
    changes.yield()
  }

  /// Writes a log message above the status, or, after ``finish()``, to standard error.
  ///
  /// A log that writes directly to standard error would overlap the status, so pass this object instead:
  ///
  /// ```swift
  /// configuration.log = ProcedureLog(to: progress)
  /// ```
  public func handle(_ message: ProcedureLogMessage) {
    guard screen.print(message.description) else { return StandardErrorLogHandler().handle(message) }
    changes.yield()
  }

  /// Shows all events up to this call, removes the status, and writes a summary. A second call waits until the first one returns, and has
  /// no other effect.
  ///
  /// Cancelling the caller has no effect.
  public func finish() async {
    await readers.stop()
    drawing.cancel()
    await drawing.value
  }
}
