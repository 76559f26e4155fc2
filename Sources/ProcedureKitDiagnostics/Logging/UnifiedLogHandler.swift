#if canImport(os)
  public import ProcedureKit
  import os

  /// A log handler that writes messages to the unified logging system on Apple platforms.
  ///
  /// The level `trace` becomes `debug`, the levels `notice` and `warning` become `default`, and `critical` becomes `fault`. The other
  /// levels are unchanged. The text and the metadata are marked as public, so that they can be read in Console.
  public struct UnifiedLogHandler: ProcedureLogHandler {
    private let logger: os.Logger

    /// Creates the handler.
    ///
    /// - Parameters:
    ///   - subsystem: The subsystem. By convention, this is the bundle identifier.
    ///   - category: The category within the subsystem.
    public init(subsystem: String, category: String = "ProcedureKit") {
      logger = os.Logger(subsystem: subsystem, category: category)
    }

    /// Writes a message to the unified logging system.
    public func handle(_ message: ProcedureLogMessage) {
      logger.log(level: Self.type(of: message.level), "\(message.description, privacy: .public)")
    }

    private static func type(of level: ProcedureLog.Level) -> OSLogType {
      switch level {
      case .trace, .debug: .debug
      case .info: .info
      case .notice, .warning: .default
      case .error: .error
      case .critical: .fault
      }
    }
  }
#endif
