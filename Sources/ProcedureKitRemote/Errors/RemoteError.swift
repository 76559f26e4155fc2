public import Foundation
internal import ProcedureKit
internal import ProcedureKitFoundation

/// An error that occurs when a procedure is executed remotely, for example because there is no worker, the connection was lost, the
/// procedure is not registered with the worker, or a value is too large.
///
/// An error that the procedure itself throws arrives unchanged if its type is in the ``RemoteSignature``. A `RemoteError` or a
/// `CancellationError` does not have to be in the signature, and a `ProcedureError` arrives with its kind and the details that make sense
/// in another process. Any other error arrives as a ``RemoteFailure``.
public struct RemoteError: Error, Hashable, Codable, Sendable, CustomStringConvertible, LocalizedError {
  /// The kind of a ``RemoteError``. Later versions of the library may add kinds, so a `switch` over kinds needs a `default`.
  public struct Kind: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The name of the kind, for example `noWorker`.
    public let description: String

    private init(_ name: String) { description = name }

    /// The worker does not have a procedure with this name.
    public static let unknownProcedure = Kind("unknownProcedure")
    /// The worker has this procedure only in other versions.
    public static let wrongVersion = Kind("wrongVersion")
    /// The input or the value is larger than the engine can transport.
    public static let payloadTooLarge = Kind("payloadTooLarge")
    /// The input or the value could not be encoded, or could not be decoded on the other side.
    public static let codingFailed = Kind("codingFailed")
    /// No worker took the call within ``RemoteLimits/startTimeout``. If the call had been delivered before, the procedure may have been
    /// executed by a worker that was lost or stopped.
    public static let noWorker = Kind("noWorker")
    /// The last worker that was allowed to execute the call was lost. The procedure may have been executed.
    public static let workerLost = Kind("workerLost")
    /// The worker sent heartbeats, but exceeded ``RemoteLimits/executionTimeout``. The procedure may have been executed.
    public static let executionTimedOut = Kind("executionTimedOut")
    /// The connection to the engine was lost, and could not be restored within the time limit. The procedure may have been executed.
    public static let connectionLost = Kind("connectionLost")
    /// The engine refused a worker's heartbeat or outcome, because the call no longer belongs to that worker.
    public static let superseded = Kind("superseded")
    /// The key of the call has already been used for a different procedure or a different input.
    public static let keyReused = Kind("keyReused")
    /// The engine refused the call for a reason that no other kind describes.
    public static let refused = Kind("refused")
  }

  /// The kind of error.
  public let kind: Kind
  /// The name and the version of the procedure.
  public let procedure: RemoteName
  /// The reason, as it appears after the colon in ``description``.
  public let reason: String

  /// Creates an error. Executors use this initializer.
  ///
  /// - Parameters:
  ///   - kind: The kind of error.
  ///   - procedure: The name and the version of the procedure.
  ///   - reason: The reason, as it appears after the colon in ``description``.
  public init(_ kind: Kind, procedure: RemoteName, reason: String) {
    (self.kind, self.procedure, self.reason) = (kind, procedure, reason)
  }

  /// Whether another attempt may succeed without a change to the code. The value is `true` for ``Kind/noWorker``, ``Kind/workerLost``,
  /// ``Kind/executionTimedOut``, and ``Kind/connectionLost``.
  public var isTransient: Bool {
    [.noWorker, .workerLost, .executionTimedOut, .connectionLost].contains(kind)
  }

  /// A sentence that names the procedure and says why the call failed.
  public var description: String {
    "\("\(procedure)".quoted) was not executed remotely, or its value is unknown: \(reason.inLines)"
  }

  /// The text of ``description`` as a sentence.
  public var errorDescription: String? { description.asSentence }
}

extension RemoteError {
  static func payloadTooLarge(_ procedure: RemoteName, _ payload: String, _ size: Int, limit: Int) -> RemoteError {
    RemoteError(
      .payloadTooLarge, procedure: procedure,
      reason:
        "its \(payload) is \(size.counting("byte")) long, but the engine accepts at most \(limit.counting("byte")). "
        + "Pass a reference to the data instead"
    )
  }

  static func codingFailed(_ procedure: RemoteName, _ action: String, _ error: any Error) -> RemoteError {
    RemoteError(.codingFailed, procedure: procedure, reason: "\(action): \(error)")
  }
}

/// A procedure's error in the form in which it is transported: the name of its type, its description, and its encoded contents.
///
/// A caller receives a `RemoteFailure` only if the type of the original error is neither in the caller's ``RemoteSignature`` nor one of the
/// library's own types (see ``RemoteError``), or if the contents are missing or cannot be decoded.
public struct RemoteFailure: Error, Hashable, Codable, Sendable, CustomStringConvertible, LocalizedError {
  /// The name of the error's type. Only the names of the library's own error types include a module.
  public let type: String
  /// The description of the error on the machine where it occurred. It is shortened if it is too large for the engine.
  public let message: String
  /// The encoded error. The array is empty if the error cannot be encoded with the types that the signature and the library provide, or if
  /// it is too large for the engine.
  public let contents: [UInt8]

  /// Creates a failure. Executors use this initializer.
  ///
  /// - Parameters:
  ///   - type: The name of the error's type.
  ///   - message: The description of the error.
  ///   - contents: The encoded error, or an empty array.
  public init(type: String, message: String, contents: [UInt8] = []) {
    (self.type, self.message, self.contents) = (type, message, contents)
  }

  /// Returns the failure in a form that can be transported. If the failure is too large, its contents are removed, and its message is
  /// shortened.
  func fitting(into limit: Int) -> RemoteFailure {
    // In JSON, each byte of the contents can take up to four bytes, and each byte of the message up to six.
    guard type.utf8.count + message.utf8.count > limit / 6 || contents.count > limit / 6 else { return self }
    return RemoteFailure(type: type, message: String(message.prefix(min(limit / 48, 1_000))))
  }

  /// The type and the description of the error, without control characters.
  public var description: String { "\(type): \(message)".inLines }

  /// The message as a sentence, without control characters.
  public var errorDescription: String? { message.inLines.asSentence }
}

/// An error type that can be transported. The type is identified by its name.
struct RemoteErrorType: Sendable {
  let name: String
  /// Encodes an error of this type; returns `nil` for an error of any other type.
  let encode: @Sendable (any Error, any ProcedureCoder) throws -> [UInt8]?
  let decode: @Sendable ([UInt8], any ProcedureCoder) throws -> any Error

  init<Failure: Error & Codable>(_ type: Failure.Type, name: String? = nil) {
    self.name = name ?? "\(type)"
    encode = { error, coder in try (error as? Failure).map(coder.encode) }
    decode = { bytes, coder in try coder.decode(Failure.self, from: bytes) }
  }
}

/// The library's own error types. Their names include a module, unlike those of other error types, so they cannot be confused with other
/// types.
extension RemoteErrorType {
  static let ofLibrary = [
    RemoteErrorType(RemoteError.self, name: "ProcedureKit.RemoteError"),
    RemoteErrorType(RemoteProcedureError.self, name: "ProcedureKit.ProcedureError"),
    RemoteErrorType(RemoteCancellation.self, name: "Swift.CancellationError"),
  ]
}

/// The form in which a `CancellationError` is transported.
struct RemoteCancellation: Error, Codable {}

/// The form in which a `ProcedureError` is transported.
///
/// Runs are identified only by name, because an ID has no meaning in another process. The error that the caller receives refers to the
/// calling run.
struct RemoteProcedureError: Error, Codable {
  private let kind: String
  private let condition, queue, resource, key, breaker: String?
  private let units, capacity, otherCapacity, limit: Int?
  private let duration, retryAfter: Duration?
  private let hasStarted, wasAdmitted: Bool?
  private let underlying: RemoteFailure?

  init(_ error: ProcedureError, underlying: RemoteFailure?) {
    kind = error.kind.description
    (condition, queue, resource, key, breaker) = (
      error.condition, error.queue, error.resource, error.key, error.breaker
    )
    (units, capacity, otherCapacity, limit) = (error.units, error.capacity, error.otherCapacity, error.limit)
    (duration, retryAfter) = (error.duration, error.retryAfter)
    (hasStarted, wasAdmitted) = (error.hasStarted, error.wasAdmitted)
    self.underlying = underlying
  }

  /// Returns the error as an error of the calling run; `nil` if its kind was added in a later version of the library.
  ///
  /// - Parameters:
  ///   - run: The calling run.
  ///   - decode: A closure that converts the underlying error.
  /// - Returns: The error, or `nil` if its kind is unknown.
  func error(of run: ProcedureIdentity, decode: (RemoteFailure) -> any Error) -> ProcedureError? {
    guard let kind = ProcedureError.Kind.all.first(where: { $0.description == self.kind }) else { return nil }
    return ProcedureError(kind, procedure: run) {
      ($0.condition, $0.queue, $0.resource, $0.key, $0.breaker) = (condition, queue, resource, key, breaker)
      ($0.units, $0.capacity, $0.otherCapacity, $0.limit) = (units, capacity, otherCapacity, limit)
      ($0.duration, $0.retryAfter) = (duration, retryAfter)
      ($0.hasStarted, $0.wasAdmitted) = (hasStarted, wasAdmitted)
      $0.underlying = underlying.map(decode)
    }
  }
}
