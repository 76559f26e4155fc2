internal import ProcedureKit

/// One call of a procedure that a worker executes.
public struct RemoteCall: Sendable {
  /// Identifies the requested work; also the idempotency key.
  ///
  /// Two calls with equal keys request the same work. An engine executes the work for a key at most once at a time, and answers a later
  /// call with the existing value. The strings are compared byte by byte, so two spellings of `é` are different keys.
  public struct Key: Hashable, Codable, Sendable {
    /// The run that the work belongs to.
    public let run: String
    /// The name of the procedure within the run.
    public let node: String
    /// The number of the attempt, from 1, if the procedure is retried.
    public let attempt: Int

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - run: The run that the work belongs to.
    ///   - node: The name of the procedure within the run.
    ///   - attempt: The number of the attempt, from 1.
    public init(run: String, node: String, attempt: Int = 1) {
      (self.run, self.node, self.attempt) = (run, node, attempt)
    }

    /// Compares the bytes of the strings, and the attempts.
    public static func == (one: Key, other: Key) -> Bool {
      one.attempt == other.attempt && one.node.hasBytes(of: other.node) && one.run.hasBytes(of: other.run)
    }

    /// Hashes the bytes of the strings, and the attempt.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(bytesOf: run)
      hasher.combine(bytesOf: node)
      hasher.combine(attempt)
    }
  }

  /// The procedure.
  public let procedure: RemoteName
  /// The identity of the work.
  public let key: Key
  /// The identity of this call, unique among all calls in all processes. If a call is sent again after a lost connection, it keeps its
  /// identity.
  public let id: String
  /// The encoded input.
  public let input: [UInt8]
  /// The time limits of the call.
  public let limits: RemoteLimits
  /// Receives the progress of the execution, as far as it is known to the executor. The function must return quickly.
  public let onProgress: @Sendable (RemoteProgress) -> Void

  /// Creates a call.
  ///
  /// - Parameters:
  ///   - procedure: The procedure.
  ///   - key: The identity of the work.
  ///   - id: The identity of the call; a new one by default.
  ///   - input: The encoded input.
  ///   - limits: The time limits of the call.
  ///   - onProgress: Receives the progress of the execution. The function must return quickly.
  public init(
    _ procedure: RemoteName, key: Key, id: String = RemoteCall.makeID(), input: [UInt8],
    limits: RemoteLimits = RemoteLimits(), onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) {
    (self.procedure, self.key, self.id, self.input) = (procedure, key, id, input)
    (self.limits, self.onProgress) = (limits, onProgress)
  }

  /// Returns an identity that no other call has in any process.
  ///
  /// - Returns: A random string that identifies this process, followed by a number.
  public static func makeID() -> String { "\(process)-\(ProcedureID.reserve().number)" }

  private static let process =
    String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
}

extension RemoteCall.Key: LosslessStringConvertible {
  /// Parses a ``description``; `nil` if the string is anything else.
  ///
  /// - Parameter description: The run, the node and the attempt, separated by slashes.
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let attempt = Int(parts[2]), let run = Self.unescaped(parts[0]),
      let node = Self.unescaped(parts[1])
    else { return nil }
    self.init(run: run, node: node, attempt: attempt)
  }

  /// The run, the node and the attempt, separated by slashes.
  ///
  /// A slash or a percent sign within the run or the node is written as `%2F` or `%25`, so that different keys have different descriptions.
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
/// Client and worker refer to the same procedure if the versions and the bytes of the names are equal. Raise the version when the meaning
/// of the procedure, or the type of its input or value, changes.
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

  /// Compares the bytes of the names, and the versions.
  public static func == (one: RemoteName, other: RemoteName) -> Bool {
    one.version == other.version && one.name.hasBytes(of: other.name)
  }

  /// Hashes the bytes of the name, and the version.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytesOf: name)
    hasher.combine(version)
  }

  /// Parses a ``description``; `nil` if the string is anything else.
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

/// The time limits of a call. A call that exceeds one ends with a ``RemoteError``.
///
/// Unless it is cancelled, a call takes at most ``deliveries`` × (``startTimeout`` + ``executionTimeout``), plus ``connectionTimeout`` if
/// the connection is lost. The loss of a worker is detected earlier, after ``heartbeatTimeout``.
public struct RemoteLimits: Hashable, Codable, Sendable {
  /// How long a call may wait for a worker. After that, the call ends with ``RemoteError/Kind/noWorker``.
  public var startTimeout: Duration = .seconds(600)

  /// How long a worker may be silent.
  ///
  /// A worker sends a heartbeat after a third of this time. A worker that is silent for longer than this time is considered lost, and the
  /// call is given to another worker. This is also the longest wait for the end of a cancelled execution.
  public var heartbeatTimeout: Duration = .seconds(30)

  /// How long one worker may execute the call. After that, the call ends with ``RemoteError/Kind/executionTimedOut``.
  public var executionTimeout: Duration = .seconds(3_600)

  /// How many workers may begin to execute the call, one after the other; at least 1.
  ///
  /// An engine may leave out workers that were stopped and returned the call, as ``LocalEngine`` does. If the last worker is lost, the call
  /// ends with ``RemoteError/Kind/workerLost``.
  public var deliveries = 3

  /// How long the client tries to restore a lost connection, starting when the executor detects the loss.
  ///
  /// After that, the call ends with ``RemoteError/Kind/connectionLost``.
  public var connectionTimeout: Duration = .seconds(60)

  /// Creates the default limits.
  public init() {}

  /// The longest time that a call can take if it is not cancelled, as described above.
  var whole: Duration {
    let delivery = startTimeout.saturated + executionTimeout.saturated
    return (delivery * min(max(deliveries, 1), 1_000_000)).saturated + connectionTimeout.saturated
  }
}

/// The progress of an execution on another machine.
public struct RemoteProgress: Hashable, Codable, Sendable {
  /// The completed fraction, from 0 to 1; `nil` if it is unknown.
  public var fraction: Double?
  /// The current step, as text for people.
  public var message: String

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - fraction: The completed fraction. A value outside 0 to 1 is clamped, and NaN becomes `nil`.
  ///   - message: The current step.
  public init(_ fraction: Double?, _ message: String = "") {
    self.fraction = fraction.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
    self.message = message
  }
}
