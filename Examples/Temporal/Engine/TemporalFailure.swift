import ProcedureKit
import ProcedureKitRemote

/// A failure that the server reports for an activity.
struct TemporalFailure {
  /// The type of the failure that a worker sends when it returns an unfinished call to the server.
  static let abandoned = "ProcedureKit.abandoned"

  private let content: MessageReader

  init(_ content: MessageReader) { self.content = content }

  /// Returns the error that the caller receives.
  func error(of call: RemoteCall) throws -> any Error {
    let message = content.string(1)
    func error(_ kind: RemoteError.Kind, _ reason: String) -> RemoteError {
      RemoteError(kind, procedure: call.procedure, reason: "\(reason): \(message)")
    }
    if content.has(5) {
      let application = try content.message(5)
      let type = application.string(1)
      if type == Self.abandoned {
        return error(
          .workerLost, "the worker stopped during delivery \(call.limits.deliveries), the last one allowed")
      }
      return try RemoteFailure(type: type, message: message, contents: application.payload(3))
    }
    if content.has(6) {
      switch try content.message(6).int(1) {
      case 1: return error(.executionTimedOut, "the worker took longer than \(call.limits.executionTimeout)")
      case 4:
        return error(
          .workerLost,
          "the worker did not send a heartbeat in time during delivery \(call.limits.deliveries), the last one allowed"
        )
      default: return error(.noWorker, "no worker accepted the call in time")
      }
    }
    return content.has(7) ? CancellationError() : error(.refused, "the server ended the activity")
  }
}
