/// A destination for log messages, and the lowest level of messages that it receives.
///
/// The library itself writes few messages:
/// - At level `warning`: a failure that no caller can see, a stalled queue, a failed cleanup, the end of a grace period while `run`
///   executes bodies in its callers' tasks, and retries that have neither a delay nor a limit (once for each name).
/// - At level `info`: a retry, and a failure that stops a graph or a parent.
/// - At level `debug`: an existing value that is used instead of executing a body.
///
/// A body can write messages to the log of its procedure:
///
/// ```swift
/// let upload = ProcedureTask("upload") { (photo: Photo) in
///   ProcedureContext.current?.log.log(level: .notice, "\(photo.count) bytes", metadata: ["photo": photo.name])
///   try await send(photo)
/// }
/// ```
///
/// Messages are written to the ``ProcedureQueue/Configuration/log`` of the queue, or, if that is `nil`, to ``shared``, the log of the
/// process. Set either of them to redirect messages. By default, messages of level `notice` and above are written to standard error. The
/// text of a message below the log's level is not evaluated.
public struct ProcedureLog: Sendable {
  /// The lowest level of messages that the handler receives.
  public var level: Level
  /// The destination of the messages.
  public var handler: any ProcedureLogHandler
  /// A function that creates the metadata of the sender. It is called only for messages that the handler receives.
  private var sender: (@Sendable () -> [String: String])?

  /// Creates a log.
  ///
  /// - Parameters:
  ///   - level: The lowest level of messages that the handler receives.
  ///   - handler: The destination of the messages.
  public init(level: Level = .notice, to handler: any ProcedureLogHandler = StandardErrorLogHandler()) {
    (self.level, self.handler) = (level, handler)
  }

  private static let process = Locked(ProcedureLog())

  /// The log of the process, which is used by queues whose configuration has no log and by procedures without a queue.
  ///
  /// A new value takes effect with the next message. The property can be used from any task.
  public static var shared: ProcedureLog {
    get { process.withLock { $0 } }
    set {
      // The previous handler is released outside the lock.
      _ = process.withLock { log in
        defer { log = newValue }
        return log
      }
    }
  }

  /// Returns a copy of the log that adds the metadata of a sender to each message. The metadata is created only for messages that the
  /// handler receives.
  func from(_ sender: @escaping @Sendable () -> [String: String]) -> ProcedureLog {
    var log = self
    log.sender = sender
    return log
  }

  // MARK: Messages

  /// Passes a message to the handler if the message's level is high enough. Otherwise, neither the text nor the metadata is evaluated.
  ///
  /// - Parameters:
  ///   - level: The importance of the message.
  ///   - text: The text of the message.
  ///   - metadata: The metadata of the message, keyed by name. It takes precedence over the procedure's metadata with the same names.
  ///   - file: The file that contains the call.
  ///   - function: The function that contains the call.
  ///   - line: The line of the call.
  public func log(
    level: Level, _ text: @autoclosure () -> String, metadata: @autoclosure () -> [String: String] = [:],
    file: String = #fileID, function: String = #function, line: UInt = #line
  ) {
    guard level >= self.level else { return }
    let facts = (sender?() ?? [:]).merging(metadata()) { $1 }
    handler.handle(
      ProcedureLogMessage(
        level: level, text: text(), metadata: facts, file: file, function: function, line: line))
  }
}

extension ProcedureLog {
  /// The importance of a message. The names and their order match those of swift-log.
  @frozen
  public enum Level: Int, CaseIterable, Codable, Comparable, Sendable, CustomStringConvertible {
    /// Details of each step, for following a single run.
    case trace
    /// Details for debugging, such as a value that is reused.
    case debug
    /// Normal operation, including retries and failures that stop a graph.
    case info
    /// Situations that may need attention, but are not errors. This is the default level of a log.
    case notice
    /// Problems that need attention, such as an unobserved failure or a stalled queue.
    case warning
    /// A failure that the app has to handle.
    case error
    /// A failure that ends the app or a part of it.
    case critical

    /// Orders the levels from `trace` to `critical`.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    /// The name of the level, such as `warning`.
    public var description: String {
      switch self {
      case .trace: "trace"
      case .debug: "debug"
      case .info: "info"
      case .notice: "notice"
      case .warning: "warning"
      case .error: "error"
      case .critical: "critical"
      }
    }
  }
}

/// One message of a ``ProcedureLog``, as received by a handler.
public struct ProcedureLogMessage: Sendable, CustomStringConvertible {
  /// The importance of the message.
  public var level: ProcedureLog.Level
  /// The text, on one or more lines.
  public var text: String
  /// The metadata of the message, keyed by name, including the sender's metadata.
  public var metadata: [String: String]
  /// The file from which the message was logged, in the form of `#fileID`.
  public var file: String
  /// The function from which the message was logged.
  public var function: String
  /// The line on which the message was logged.
  public var line: UInt

  /// Creates a message.
  public init(
    level: ProcedureLog.Level, text: String, metadata: [String: String] = [:], file: String = #fileID,
    function: String = #function, line: UInt = #line
  ) {
    (self.level, self.text, self.metadata) = (level, text, metadata)
    (self.file, self.function, self.line) = (file, function, line)
  }

  /// The message on one line: `warning: the disk is full [procedure.id=#42 procedure.name=Save]`.
  ///
  /// Line breaks become spaces, other control characters become `U+FFFD`, and characters that change the direction of text are removed.
  /// Text can therefore neither imitate another line nor control a terminal. A line contains at most 4,096 characters of the text and 256
  /// characters of each value. Shortened text ends with "…".
  public var description: String {
    let line = "\(level): \(Self.oneLine(text, limit: 4_096))"
    guard !metadata.isEmpty else { return line }
    let pairs = metadata.sorted { $0.key < $1.key }.map { key, value in
      "\(Self.oneLine(key, limit: 64))=\(Self.oneLine(value, limit: 256))"
    }
    return "\(line) [\(pairs.joined(separator: " "))]"
  }

  private static func oneLine(_ text: String, limit: Int) -> String {
    let isCut = !text.unicodeScalars.dropFirst(limit).isEmpty
    return text.unicodeScalars.prefix(limit).harmless(control: "\u{FFFD}") + (isCut ? "…" : "")
  }
}

/// The destination of log messages.
///
/// The library can call a handler from any task, and from several tasks at once. It waits until the handler returns. A handler must
/// therefore return quickly. If the destination is slow, buffer the messages. A handler must not wait for a procedure.
public protocol ProcedureLogHandler: Sendable {
  /// Receives a message whose level is at least that of the log.
  func handle(_ message: ProcedureLogMessage)
}
