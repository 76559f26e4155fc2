public import ProcedureKit
import Synchronization

/// A log handler that collects the messages of a `ProcedureLog`, for tests.
///
/// ```swift
/// let collector = LogCollector()
/// var configuration = ProcedureQueue.Configuration("uploads")
/// configuration.log = ProcedureLog(level: .trace, to: collector)
/// let queue = ProcedureQueue(configuration)
/// _ = try await queue.run(upload, input: photo)
/// #expect(collector.texts(.warning) == [])
/// ```
///
/// The collector keeps all messages in order of arrival. It can be used from any task.
public final class LogCollector: ProcedureLogHandler {
  private let collected = Mutex<[ProcedureLogMessage]>([])

  /// Creates an empty collector.
  public init() {}

  /// Adds the message to ``messages``.
  public func handle(_ message: ProcedureLogMessage) {
    collected.withLock { $0.append(message) }
  }

  /// The messages so far.
  public var messages: [ProcedureLogMessage] { collected.withLock { $0 } }

  /// Returns the texts of the messages of one level.
  public func texts(_ level: ProcedureLog.Level) -> [String] {
    messages.filter { $0.level == level }.map(\.text)
  }
}
