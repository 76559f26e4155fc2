import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote

/// An attempt to execute an activity.
struct TemporalTask: RemoteTask {
  let call: RemoteCall
  let delivery: Int
  var payloadLimit: Int { TemporalConnection.payloadLimit }

  private let token: [UInt8]
  private let connection: TemporalConnection

  init(_ answer: MessageReader, _ connection: TemporalConnection) throws {
    (token, self.connection, delivery) = (answer.bytes(1), connection, answer.int(13))
    let (type, id) = (try answer.message(5).string(1), answer.string(6))
    var limits = RemoteLimits()
    limits.executionTimeout = try answer.duration(15) ?? limits.executionTimeout
    limits.heartbeatTimeout = try answer.duration(16) ?? limits.heartbeatTimeout
    // The type and the ID have other forms if another kind of client started the activity.
    call = RemoteCall(
      RemoteName(type) ?? RemoteName(type, version: 1), key: RemoteCall.Key(id) ?? RemoteCall.Key(run: id, node: type),
      id: answer.string(20), input: try answer.payload(8), limits: limits)
  }

  func heartbeat(_ progress: RemoteProgress?) async throws -> Bool {
    let details = try progress.map(JSONProcedureCoder().encode)
    return try await send("RecordActivityTaskHeartbeat") {
      $0.write(1, token)
      if let details { $0.writePayloads(2, details) }
      $0.write(3, connection.identity)
      $0.write(4, connection.namespace)
    }.int(1) == 1
  }

  func end(_ outcome: RemoteOutcome) async throws {
    switch outcome {
    case .finished(let output): try await respond("RespondActivityTaskCompleted") { $0.writePayloads(2, output) }
    case .failed(let failure): try await fail(failure, isFinal: true)
    case .abandoned:
      try await fail(RemoteFailure(type: TemporalFailure.abandoned, message: "the worker is stopping"), isFinal: false)
    case .cancelled: try await respond("RespondActivityTaskCanceled") { _ in }
    }
  }

  private func fail(_ failure: RemoteFailure, isFinal: Bool) async throws {
    try await respond("RespondActivityTaskFailed") {
      $0.write(2) {
        $0.write(1, failure.message)
        $0.write(2, "ProcedureKit")
        $0.write(5) {
          $0.write(1, failure.type)
          $0.write(2, isFinal)
          $0.writePayloads(3, failure.contents)
        }
      }
    }
  }

  private func respond(_ method: String, _ content: (inout MessageWriter) -> Void) async throws {
    _ = try await send(method) {
      $0.write(1, token)
      content(&$0)
      $0.write(3, connection.identity)
      $0.write(4, connection.namespace)
    }
  }

  private func send(_ method: String, _ build: (inout MessageWriter) -> Void) async throws -> MessageReader {
    do {
      return try await connection.call(method, timeout: .seconds(5), build)
    } catch let error as GRPCError where error.status == GRPCError.notFound {
      throw RemoteError(.superseded, procedure: call.procedure, reason: "\(error)")
    } catch {
      throw connection.error(error, of: call.procedure)
    }
  }
}
