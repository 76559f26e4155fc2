public import Foundation
public import ProcedureKit

/// A recorder that writes the events of one or more queues to a file in the Chrome trace event format.
///
/// [Perfetto](https://ui.perfetto.dev) and `chrome://tracing` can display such files.
///
/// ```swift
/// let recorder = try TraceRecorder(file: URL(filePath: "trace.json"))
/// recorder.record(queue)
/// try await queue.run(job)
/// try await recorder.finish()
/// ```
///
/// In the trace, a queue appears as a process with a lane for each slot. Each slice in a lane is the execution of one attempt. Waits and
/// pauses are slices outside the lanes. Arrows lead from a dependency to its dependents. Cancellations, failures, failed attempts and
/// reused values are instant events.
///
/// The trace is written while the queues are working. Memory use depends on the number of concurrent procedures, rather than on the total
/// number of procedures. The queues never wait for the recorder. If the recorder is too slow, it loses the oldest events. The trace shows
/// where events were lost, and how many. If the process is killed, at most the last fifth of a second is missing from the file. Viewers can
/// still open the file, because the format allows an array that is not closed.
///
/// To enable tracing without changing the code each time, see ``Diagnostics/start()``.
public final class TraceRecorder: Sendable {
  /// The file to which the trace is written.
  public let file: URL
  private let writer: TraceWriter
  private let start = ContinuousClock.now
  private let readers = FeedReaders()

  /// Creates the file, or truncates it if it already exists.
  ///
  /// - Throws: ``TraceError`` if the file cannot be opened for writing.
  public convenience init(file: URL) throws {
    // A path with a NUL character is rejected, because the system would use only the part before that character. The URL is checked instead
    // of `path`, which does not contain the character.
    guard !file.absoluteString.contains("%00") else { throw TraceError(file: file, underlying: POSIXError(.EINVAL)) }
    try self.init(path: SystemText(file.path), file)
  }

  /// Creates the file, or truncates it if it already exists. The path does not have to be valid UTF-8, because it may come from the command
  /// line.
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

  /// Starts recording the events of a queue. The recording continues until ``finish()`` is called. Calling this function after ``finish()``
  /// has no effect.
  ///
  /// - Parameter queue: The queue, which is not retained. A queue that is recorded twice is drawn twice.
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

  /// Writes all events up to this call and closes the file. Later calls only report the result of the first call.
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
