public import Foundation
public import ProcedureKit

/// Writes the events of queues to a file in the Chrome trace event format.
///
/// [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` show such files.
///
/// ```swift
/// let recorder = try TraceRecorder(file: URL(filePath: "trace.json"))
/// recorder.record(queue)
/// try await queue.run(job)
/// try await recorder.finish()
/// ```
///
/// A queue appears as a process in the trace, with a lane for each slot. The slices are executions, one for each attempt. Waits and pauses
/// are slices outside the lanes. Arrows lead from a dependency to its dependents; cancellations, failures, failed attempts and reused
/// values are instants.
///
/// The trace is written while the queues are working. The memory that this takes depends on the number of concurrent procedures, and not on
/// their total number. A reader that is too slow loses the oldest events, and the trace marks the gap with their number; the queues never
/// wait. If the process is killed, the file lacks at most the last fifth of a second, and viewers can still open it, because the format
/// allows an array that is not closed.
///
/// To enable tracing without changing the code each time, see ``Diagnostics/start()``.
public final class TraceRecorder: Sendable {
  /// The file of the trace.
  public let file: URL
  private let writer: TraceWriter
  private let start = ContinuousClock.now
  private let readers = FeedReaders()

  /// Creates the file, or empties an existing one.
  ///
  /// - Throws: ``TraceError`` if the file cannot be opened for writing.
  public convenience init(file: URL) throws {
    // The system would open only the part of the path before the NUL, which `path` omits.
    guard !file.absoluteString.contains("%00") else { throw TraceError(file: file, underlying: POSIXError(.EINVAL)) }
    try self.init(path: SystemText(file.path), file)
  }

  /// Creates the file, or empties an existing one. The path, which may come from the command line, need not be UTF-8.
  ///
  /// - Throws: ``TraceError`` if the file cannot be opened for writing.
  public convenience init(path: SystemText) throws {
    try self.init(path: path, URL(filePath: path.description, directoryHint: .notDirectory))
  }

  private convenience init(path: SystemText, _ file: URL) throws {
    guard !path.containsZero else { throw TraceError(file: file, underlying: POSIXError(.EINVAL)) }
    let descriptor = path.withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
    guard descriptor >= 0 else {
      throw TraceError(file: file, underlying: POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO))
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.init(file: file) { try handle.write(contentsOf: $0) }
  }

  init(file: URL, output: @escaping TraceWriter.Output) {
    self.file = file
    writer = TraceWriter(output: output)
  }

  /// Records the events of a queue from now on, until ``finish()``. Has no effect after that.
  ///
  /// - Parameter queue: The queue. It is not retained. A queue that is recorded twice is drawn twice.
  public func record(_ queue: ProcedureQueue) {
    record(queue.feed())
  }

  /// Records the events of a feed; see ``record(_:)``.
  func record(_ feed: QueueFeed) {
    let offset = start.duration(to: .now).inNanoseconds - feed.start.sinceStart.inNanoseconds
    readers.read(feed) { [writer] number in
      await writer.draw { $0.add(queue: number, name: feed.queueName, offset: offset) }
      while let event = await feed.next() {
        let problem = TraceDrawing.problem(in: event)
        await writer.draw { $0.draw(event, of: number, problem: problem) }
      }
      await writer.draw { $0.remove(queue: number) }
    }
  }

  /// Writes the events up to now and closes the file. Calling this function again only returns the result.
  ///
  /// Cancelling the caller has no effect: the remaining events are written.
  ///
  /// - Throws: ``TraceError`` if the file could not be written. Bytes that have already been written are kept.
  public func finish() async throws {
    await readers.stop()
    do {
      try writer.finish()
    } catch {
      throw TraceError(file: file, underlying: error)
    }
  }
}
