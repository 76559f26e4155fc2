/// One call of a procedure that is executed elsewhere.
public struct RemoteCall: Sendable {
  /// The identity of the work that a call asks for: the idempotency key.
  ///
  /// Two calls with equal keys ask for the same work. An engine executes the work of a key at most once at a time, and answers a later call
  /// with the value that is there. The texts are compared byte by byte: `é` in two spellings makes two keys.
  public struct Key: Hashable, Codable, Sendable {
    /// The run that the work belongs to.
    public let run: String
    /// The name of the procedure within the run.
    public let node: String
    /// The attempt of the procedure, from 1, if the procedure is retried.
    public let attempt: Int

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - run: The run that the work belongs to.
    ///   - node: The name of the procedure within the run.
    ///   - attempt: The attempt of the procedure, from 1.
    public init(run: String, node: String, attempt: Int = 1) {
      (self.run, self.node, self.attempt) = (run, node, attempt)
    }

    /// Compares the bytes of the texts, and the attempts.
    public static func == (one: Key, other: Key) -> Bool {
      one.attempt == other.attempt && one.node.hasBytes(of: other.node) && one.run.hasBytes(of: other.run)
    }

    /// Hashes the bytes of the texts, and the attempt.
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
  /// The identity of this call, unique among all calls of all processes. A call that is sent again after a lost connection keeps its identity.
  public let id: String
  /// The encoded input.
  public let input: [UInt8]
  /// The time limits of the call.
  public let limits: RemoteLimits
  /// Receives the progress of the execution, so far as the executor knows it. The function must return soon.
  public let onProgress: @Sendable (RemoteProgress) -> Void

  /// Makes a call.
  ///
  /// - Parameters:
  ///   - procedure: The procedure.
  ///   - key: The identity of the work.
  ///   - id: The identity of the call. By default a new one.
  ///   - input: The encoded input.
  ///   - limits: The time limits of the call.
  ///   - onProgress: Receives the progress of the execution. The function must return soon.
  public init(
    _ procedure: RemoteName, key: Key, id: String = RemoteCall.makeID(), input: [UInt8],
    limits: RemoteLimits = RemoteLimits(), onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) {
    (self.procedure, self.key, self.id, self.input) = (procedure, key, id, input)
    (self.limits, self.onProgress) = (limits, onProgress)
  }

  /// Returns an identity that no other call has, also in other processes.
  ///
  /// - Returns: A random text of this process, and a number.
  public static func makeID() -> String { "\(process)-\(ProcedureID.reserve().number)" }

  private static let process =
    String(UInt64.random(in: 0 ... .max), radix: 36) + String(UInt64.random(in: 0 ... .max), radix: 36)
}
