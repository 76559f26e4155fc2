/// The final status of a program.
@frozen
public enum ProcessStatus: Hashable, Sendable, CustomStringConvertible {
  /// The program exited, with a status from 0 to 255.
  case exited(Int32)
  /// The program was terminated by a signal.
  case signalled(Int32)

  /// Whether the program exited with status 0.
  public var isSuccess: Bool { self == .exited(0) }

  /// The status as a shell would report it, which is the exit status, or 128 plus the number of the signal.
  public var shellStatus: Int32 {
    switch self {
    case .exited(let status): status
    case .signalled(let signal): 128 + signal
    }
  }

  /// The status as it appears in messages, for example `exit status 2` or `signal 15`.
  public var description: String {
    switch self {
    case .exited(let status): "exit status \(status)"
    case .signalled(let signal): "signal \(signal)"
    }
  }
}
