public import ProcedureKit
import Synchronization

/// Records the runs of queues, for a ``Timeline`` and a ``RunReport``.
///
/// ```swift
/// let recorder = RunRecorder()
/// recorder.record(queue)
/// try await queue.run(job)
/// let report = RunReport(await recorder.finish())
/// print(report.text)
/// ```
///
/// The recorder keeps a number of runs: when there are more, those that ended first are dropped and counted. For a program that runs
/// for days, write a trace (``TraceRecorder``) instead.
public final class RunRecorder: Sendable {
  private let ledger: Mutex<RunLedger>
  private let readers = FeedReaders()
  private let start = ContinuousClock.now

  /// Creates a recorder that records nothing yet.
  ///
  /// - Parameter limit: How many runs are kept; at least 1. A run takes about half a kilobyte, and its texts.
  public init(limit: Int = 10_000) {
    ledger = Mutex(RunLedger(limit: limit))
  }

  /// Records the events of a queue from now on, until ``finish()``. Has no effect after that.
  ///
  /// - Parameter queue: The queue, which is not kept alive.
  public func record(_ queue: ProcedureQueue) {
    let feed = queue.feed()
    let offset = start.duration(to: .now) - feed.start.sinceStart
    readers.read(feed) { [weak self] _ in
      while let event = await feed.next() {
        let reason = RunLedger.reason(in: event)
        self?.ledger.withLock { $0.take(event, of: feed.queueName, offset: offset, reason: reason) }
      }
    }
  }

  /// The runs so far. O(n log n) for n runs.
  public var recording: RunRecording { ledger.withLock { $0.recording } }

  /// Ends recording, and returns the runs, with all events until now.
  ///
  /// Cancelling the caller changes nothing.
  public func finish() async -> RunRecording {
    await readers.stop()
    return recording
  }
}
