public import ProcedureKit
import Synchronization

/// A recorder that keeps records of the runs on one or more queues. Use the recording to create a ``Timeline`` or a ``RunReport``.
///
/// ```swift
/// let recorder = RunRecorder()
/// recorder.record(queue)
/// try await queue.run(job)
/// let report = RunReport(await recorder.finish())
/// print(report.text)
/// ```
///
/// The recorder keeps a limited number of runs. If there are more, it drops the runs that ended first and counts them. For an app or a
/// server that runs for days, write a trace with a ``TraceRecorder`` instead.
public final class RunRecorder: Sendable {
  private let store: Mutex<RunRecordStore>
  private let readers = FeedReaders()
  private let start = ContinuousClock.now

  /// Creates a recorder that does not record anything yet.
  ///
  /// - Parameter limit: The maximum number of runs to keep, which must be at least 1. Unfinished runs are always kept. A run takes up about
  ///   half a kilobyte, plus the size of its strings.
  public init(limit: Int = 10_000) {
    store = Mutex(RunRecordStore(limit: limit))
  }

  /// Starts recording the events of a queue. The recording continues until ``finish()`` is called. Calling this function after ``finish()``
  /// has no effect.
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

  /// The runs recorded so far.
  ///
  /// - Complexity: O(n log n) for n runs.
  public var recording: RunRecording { store.withLock { $0.recording } }

  /// Ends the recording and returns the runs. The recording includes all events up to this call.
  ///
  /// Cancelling the caller has no effect.
  public func finish() async -> RunRecording {
    await readers.stop()
    return recording
  }
}
