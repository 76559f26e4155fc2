/// An error of executing a procedure elsewhere: no worker, no connection, no such procedure, no room.
///
/// Errors that the procedure itself throws come back as they were, if their types are in the ``RemoteSignature``; else as a ``RemoteFailure``.
public struct RemoteError: Error, Hashable, Codable, Sendable, CustomStringConvertible {
  /// The kind of a ``RemoteError``. Later versions can add kinds, so a `switch` has a `default`.
  public struct Kind: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The name of the kind: `noWorker`.
    public let description: String

    private init(_ name: String) { description = name }

    /// The worker has no procedure of this name.
    public static let unknownProcedure = Kind("unknownProcedure")
    /// The worker has other versions of the procedure.
    public static let wrongVersion = Kind("wrongVersion")
    /// The input or the value has more bytes than the engine transports.
    public static let payloadTooLarge = Kind("payloadTooLarge")
    /// The input or the value could not be encoded, or not be decoded on the other side.
    public static let codingFailed = Kind("codingFailed")
    /// No worker took the call in time. The procedure was not executed.
    public static let noWorker = Kind("noWorker")
    /// The last worker that may execute the call was lost. The procedure may have been executed.
    public static let workerLost = Kind("workerLost")
    /// The worker was alive, but took too long. The procedure may have been executed.
    public static let executionTimedOut = Kind("executionTimedOut")
    /// The connection to the engine was lost for too long. The procedure may have been executed.
    public static let connectionLost = Kind("connectionLost")
    /// The engine refuses a worker's heartbeat or answer, since the call is not the worker's any more.
    public static let superseded = Kind("superseded")
    /// The key of the call stands for other work: another procedure or another input.
    public static let keyReused = Kind("keyReused")
    /// The engine refuses the call for a reason of its own.
    public static let refused = Kind("refused")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The procedure.
  public let procedure: RemoteName
  /// The reason, as a part of a sentence.
  public let reason: String

  /// Makes an error, for an executor.
  ///
  /// - Parameters:
  ///   - kind: The kind of the error.
  ///   - procedure: The procedure.
  ///   - reason: The reason, as a part of a sentence.
  public init(_ kind: Kind, procedure: RemoteName, reason: String) {
    (self.kind, self.procedure, self.reason) = (kind, procedure, reason)
  }

  /// Whether another attempt can succeed without a change of the program: after ``Kind/noWorker``, ``Kind/workerLost``,
  /// ``Kind/executionTimedOut`` and ``Kind/connectionLost``.
  public var isTransient: Bool {
    [.noWorker, .workerLost, .executionTimedOut, .connectionLost].contains(kind)
  }

  /// The procedure and the reason.
  public var description: String {
    "\("\(procedure)".quoted) was not executed elsewhere, or its value is unknown: \(reason)"
  }
}

extension RemoteError {
  static func payloadTooLarge(_ procedure: RemoteName, _ payload: String, _ size: Int, limit: Int) -> RemoteError {
    RemoteError(
      .payloadTooLarge, procedure: procedure,
      reason:
        "its \(payload) has \(size) bytes, and the engine transports at most \(limit); pass a reference to the data instead"
    )
  }

  static func codingFailed(_ procedure: RemoteName, _ action: String, _ error: any Error) -> RemoteError {
    RemoteError(.codingFailed, procedure: procedure, reason: "\(action): \(error)")
  }
}
