internal import ProcedureKit

/// A single call to a procedure that a worker executes.
public struct RemoteCall: Sendable {
  /// A key that identifies the requested work, and that can be used as an idempotency key.
  ///
  /// Two calls with equal keys request the same work. An engine assigns a key to at most one worker at a time, although a worker that is
  /// considered lost may still be executing the call. Once an execution has returned a value, later calls with that key receive the same
  /// value for as long as the engine keeps it. Strings in keys are compared byte by byte, so keys that contain different encodings of `é`
  /// are different.
  public struct Key: Hashable, Codable, Sendable {
    /// A name for the work: the result of the `key` closure that was passed to `remote`, or else the unique ID of the call.
    public let run: String
    /// The name of the procedure on which `remote` was called.
    public let node: String
    /// The number of the attempt, starting from 1. Each retry of the procedure increases the number.
    public let attempt: Int

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - run: A name for the work.
    ///   - node: The name of the procedure.
    ///   - attempt: The number of the attempt, starting from 1.
    public init(run: String, node: String, attempt: Int = 1) {
      (self.run, self.node, self.attempt) = (run, node, attempt)
    }

    /// Returns whether two keys have the same attempt number and the same bytes in their strings.
    public static func == (one: Key, other: Key) -> Bool {
      one.attempt == other.attempt && one.node.hasBytes(of: other.node) && one.run.hasBytes(of: other.run)
    }

    /// Hashes the bytes of the strings and the attempt.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(bytesOf: run)
      hasher.combine(bytesOf: node)
      hasher.combine(attempt)
    }
  }

  /// The name and the version of the procedure.
  public let procedure: RemoteName
  /// The identity of the work.
  public let key: Key
  /// The identity of this call, which is unique among all calls in all processes. A call that is sent again after the connection is lost
  /// keeps its identity.
  public let id: String
  /// The encoded input.
  public let input: [UInt8]
  /// The limits of the call.
  public let limits: RemoteLimits
  /// A closure that the executor calls when it receives progress from the worker. The closure must return quickly.
  public let onProgress: @Sendable (RemoteProgress) -> Void

  /// Creates a call.
  ///
  /// - Parameters:
  ///   - procedure: The name and the version of the procedure.
  ///   - key: The identity of the work.
  ///   - id: The identity of the call. By default, a new identity is created.
  ///   - input: The encoded input.
  ///   - limits: The limits of the call.
  ///   - onProgress: A closure that receives the progress of the execution. It must return quickly.
  public init(
    _ procedure: RemoteName, key: Key, id: String = RemoteCall.makeID(), input: [UInt8],
    limits: RemoteLimits = RemoteLimits(), onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) {
    (self.procedure, self.key, self.id, self.input) = (procedure, key, id, input)
    (self.limits, self.onProgress) = (limits, onProgress)
  }

  /// Returns a new identity that no other call in any process has.
  ///
  /// - Returns: A random string that identifies this process, followed by a number.
  public static func makeID() -> String { "\(process)-\(ProcedureID.reserve().number)" }

  private static let process =
    String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
}

extension RemoteCall.Key: LosslessStringConvertible {
  /// Creates a key from its ``description``. Returns `nil` if the string is not a valid description.
  ///
  /// - Parameter description: The run, the node, and the attempt, separated by slashes.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let attempt = Int(parts[2]), let run = Self.unescaped(parts[0]),
      let node = Self.unescaped(parts[1])
    else { return nil }
    self.init(run: run, node: node, attempt: attempt)
  }

  /// The run, the node, and the attempt, separated by slashes.
  ///
  /// A slash or a percent sign in the run or the node is written as `%2F` or `%25`, so different keys have different descriptions.
  public var description: String { "\(Self.escaped(run))/\(Self.escaped(node))/\(attempt)" }

  private static func escaped(_ part: String) -> String {
    part.replacingScalars { scalar in
      switch scalar {
      case "/": "%2F"
      case "%": "%25"
      default: nil
      }
    }
  }

  private static func unescaped(_ part: Substring) -> String? {
    let pieces = part.unicodeScalars.split(separator: "%", omittingEmptySubsequences: false)
    var text = String(pieces[0])
    for piece in pieces.dropFirst() {
      switch String(piece.prefix(2)) {
      case "2F": text += "/"
      case "25": text += "%"
      default: return nil
      }
      text += String(piece.dropFirst(2))
    }
    return text
  }
}

/// The name and the version of a procedure that a worker executes.
///
/// A client and a worker refer to the same procedure if the versions are equal and the names consist of the same bytes. Increase the
/// version when the behaviour of the procedure, or the type of its input or value, changes.
public struct RemoteName: Hashable, Codable, Sendable, LosslessStringConvertible {
  /// The name, for example "resize".
  public let name: String
  /// The version.
  public let version: Int

  /// Creates a name.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - version: The version of the procedure.
  public init(_ name: String, version: Int = 1) {
    (self.name, self.version) = (name, version)
  }

  /// Returns whether two names have the same version and consist of the same bytes.
  public static func == (one: RemoteName, other: RemoteName) -> Bool {
    one.version == other.version && one.name.hasBytes(of: other.name)
  }

  /// Hashes the bytes of the name and the version.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(version)
  }

  /// Creates a name from its ``description``. Returns `nil` if the string is not a valid description.
  ///
  /// - Parameter description: The name, an `@`, and the version.
  public init?(_ description: String) {
    guard let separator = description.lastIndex(of: "@"),
      let version = Int(description[description.index(after: separator)...])
    else { return nil }
    self.init(String(description[..<separator]), version: version)
  }

  /// The name and the version, such as `resize@2`.
  public var description: String { "\(name)@\(version)" }
}

/// The limits of a call. A call that exceeds one of them ends with a ``RemoteError``.
///
/// A call that is not cancelled takes at most ``deliveries`` × (``startTimeout`` + ``executionTimeout``), plus the time for restoring a
/// lost connection. It can take longer if the engine does not count deliveries that ended because a worker was stopped. The loss of a
/// worker is detected after ``heartbeatTimeout``. If a call joins an execution that another call started, the limits of that other call
/// apply to the execution.
public struct RemoteLimits: Hashable, Codable, Sendable {
  /// How long a call is allowed to wait for a worker. If no worker takes the call within this time, the call ends with
  /// ``RemoteError/Kind/noWorker``.
  public var startTimeout: Duration = .seconds(600)

  /// How long a worker is allowed to be silent.
  ///
  /// A worker sends heartbeats at intervals of one third of this timeout. A worker that is silent for longer than the timeout is considered
  /// lost, and its call is delivered again if it has ``deliveries`` left. When a call is cancelled, the caller waits at most this long for
  /// the execution to end.
  public var heartbeatTimeout: Duration = .seconds(30)

  /// How long a single worker is allowed to execute the call. If the worker takes longer, the call ends with
  /// ``RemoteError/Kind/executionTimedOut``. An engine other than ``LocalEngine`` may first deliver the call again.
  public var executionTimeout: Duration = .seconds(3_600)

  /// The maximum number of times that the call is delivered to a worker. The value must be at least 1.
  ///
  /// An engine need not count a delivery if the worker returned the call because it was stopped. ``LocalEngine`` does not count such
  /// deliveries. If the worker is lost during the last delivery, the call ends with ``RemoteError/Kind/workerLost``.
  public var deliveries = 3

  /// How long the client tries to restore a lost connection after the executor has detected the loss.
  ///
  /// If the connection has not been restored within this time, the call ends with ``RemoteError/Kind/connectionLost``.
  public var connectionTimeout: Duration = .seconds(60)

  /// Creates the default limits.
  public init() {}

  /// The time after which the client no longer repeats a call whose connection was lost.
  var whole: Duration {
    let delivery = startTimeout.saturated + executionTimeout.saturated
    return (delivery * min(max(deliveries, 1), 1_000_000)).saturated + connectionTimeout.saturated
  }
}

/// The progress of an execution on another machine.
public struct RemoteProgress: Hashable, Codable, Sendable {
  /// The completed fraction, from 0 to 1; `nil` if it is unknown.
  public var fraction: Double?
  /// A description of the current step, for display to users.
  public var message: String

  /// Creates a progress report.
  ///
  /// - Parameters:
  ///   - fraction: The completed fraction. A value outside the range from 0 to 1 is clamped to that range, and NaN becomes `nil`.
  ///   - message: The current step.
  public init(_ fraction: Double?, _ message: String = "") {
    self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
    self.message = message
  }
}
