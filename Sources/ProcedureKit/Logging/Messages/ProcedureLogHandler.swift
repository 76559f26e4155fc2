/// The destination of log messages.
///
/// The library calls a handler from any task, several at once, and waits until the handler returns. So a handler returns
/// soon: slow destinations buffer. A handler must not wait for a procedure.
public protocol ProcedureLogHandler: Sendable {
  /// Takes a message, which has at least the level of the log.
  func handle(_ message: ProcedureLogMessage)
}

/// Writes each message as one line to standard error; see ``ProcedureLogMessage/description``.
///
/// One call writes one line, so that lines of several tasks do not mix. A failed write is ignored.
public struct StandardErrorLogHandler: ProcedureLogHandler {
  /// Creates the handler.
  public init() {}

  /// Writes the line.
  public func handle(_ message: ProcedureLogMessage) {
    StandardError.write(message.description)
  }
}
