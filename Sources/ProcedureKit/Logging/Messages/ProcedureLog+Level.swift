extension ProcedureLog {
  /// How important a message is. The names and their order are those of swift-log.
  public enum Level: Int, CaseIterable, Codable, Comparable, Sendable, CustomStringConvertible {
    /// Every step, to follow one run.
    case trace
    /// Details for those who look for a mistake: a value was reused.
    case debug
    /// The normal course of things: a retry, a failure that stops a graph.
    case info
    /// Conditions that may need attention, and are no error. The least level by default.
    case notice
    /// Something that is lost or does not move, unless somebody looks: an unobserved failure, a stalled queue.
    case warning
    /// A failure that the program has to deal with.
    case error
    /// A failure that ends the program, or a part of it.
    case critical

    /// Orders the levels from `trace` to `critical`.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    /// The name of the level: `warning`.
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
