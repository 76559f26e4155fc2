public import ProcedureKit
import Synchronization

/// Records the runs on queues, for a ``Timeline`` and a ``RunReport``.
///
/// ```swift
/// let recorder = RunRecorder()
/// recorder.record(queue)
/// try await queue.run(job)
/// let report = RunReport(await recorder.finish())
/// print(report.text)
/// ```
///
/// The recorder keeps a limited number of runs: if there are more, the runs that ended first are dropped and counted. If an app or a server
/// runs for days, write a trace (``TraceRecorder``) instead.
public final class RunRecorder: Sendable {
  private let store: Mutex<RunRecordStore>
  private let readers = FeedReaders()
  private let start = ContinuousClock.now

  /// Creates a recorder that does not record anything yet.
  ///
  /// - Parameter limit: How many runs are kept; at least 1. A run takes about half a kilobyte, in addition to its strings.
  public init(limit: Int = 10_000) {
    store = Mutex(RunRecordStore(limit: limit))
  }

  /// Records the events of a queue from now on, until ``finish()``. Has no effect after that.
  ///
  /// - Parameter queue: The queue. The recorder does not retain it.
  public func record(_ queue: ProcedureQueue) {
    let feed = queue.feed()
    let offset = start.duration(to: .now) - feed.start.sinceStart
    readers.read(feed) { [weak self] _ in
      while let event = await feed.next() {
        let reason = RunRecordStore.reason(in: event)
        self?.store.withLock { $0.take(event, of: feed.queueName, offset: offset, reason: reason) }
      }
    }
  }

  /// The runs recorded so far. O(n log n) for n runs.
  public var recording: RunRecording { store.withLock { $0.recording } }

  /// Ends the recording, and returns the runs, including all events up to now.
  ///
  /// Cancelling the caller has no effect.
  public func finish() async -> RunRecording {
    await readers.stop()
    return recording
  }
}
