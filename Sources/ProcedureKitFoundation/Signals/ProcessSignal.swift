#if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
  import Foundation

  /// A Unix signal that a process can receive, such as `SIGINT`, which Ctrl-C sends.
  public struct ProcessSignal: RawRepresentable, Hashable, Sendable {
    /// The number of the signal on this system.
    public let rawValue: Int32

    /// Creates a signal from its number.
    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// `SIGINT`: the user pressed Ctrl-C.
    public static let interrupt = ProcessSignal(rawValue: SIGINT)
    /// `SIGTERM`: a process manager or the user asked the process to end.
    public static let terminate = ProcessSignal(rawValue: SIGTERM)
    /// `SIGHUP`: the terminal was closed. Many daemons respond to this signal by reloading their configuration.
    public static let hangUp = ProcessSignal(rawValue: SIGHUP)
    /// `SIGQUIT`: the user pressed Ctrl-\.
    public static let quit = ProcessSignal(rawValue: SIGQUIT)
    /// `SIGUSR1`, which has no predefined meaning.
    public static let user1 = ProcessSignal(rawValue: SIGUSR1)
    /// `SIGUSR2`, which has no predefined meaning.
    public static let user2 = ProcessSignal(rawValue: SIGUSR2)

    /// The conventional exit status of a process that this signal terminated: 128 plus the number of the signal.
    public var exitStatus: Int32 { 128 + rawValue }
  }

  extension ProcessSignal: CustomStringConvertible {
    /// The name of the signal, such as `SIGINT`. A signal that has no name on this system is described by its number, as in `signal 34`.
    public var description: String {
      switch self {
      case .interrupt: "SIGINT"
      case .terminate: "SIGTERM"
      case .hangUp: "SIGHUP"
      case .quit: "SIGQUIT"
      case .user1: "SIGUSR1"
      case .user2: "SIGUSR2"
      default: "signal \(rawValue)"
      }
    }
  }
#endif
