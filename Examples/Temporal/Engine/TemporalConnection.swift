import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote

/// A connection to a namespace and a task queue on a Temporal server.
public struct TemporalConnection: Sendable {
  /// The maximum size of inputs and values, in bytes. The server's limit is 2 MiB.
  public static let payloadLimit = 2_000_000

  let grpc: GRPCClient
  let namespace: String
  let taskQueue: String
  /// The name of this process as it appears in the server's records.
  let identity: String

  /// Creates a connection. Nothing is sent until the first call.
  ///
  /// - Parameters:
  ///   - host: The address of the server's gRPC port.
  ///   - taskQueue: The name of the queue in which calls wait for workers. Any name can be used.
  ///   - namespace: The namespace, which must exist.
  public init(host: String = "127.0.0.1:7233", taskQueue: String, namespace: String = "default") {
    grpc = GRPCClient(host: host, service: "temporal.api.workflowservice.v1.WorkflowService")
    (self.taskQueue, self.namespace) = (taskQueue, namespace)
    identity = "\(ProcessInfo.processInfo.processName) \(ProcessInfo.processInfo.processIdentifier)"
  }

  /// Waits until the server responds. Cancelling the caller ends the wait.
  ///
  /// - Parameter limit: The maximum duration of the wait.
  /// - Throws: The error from the last attempt if the server does not respond in time; `CancellationError` if the task is cancelled.
  public func waitUntilReady(atMost limit: Duration) async throws {
    _ = try await call("DescribeNamespace", patience: limit) { $0.write(1, namespace) }
  }

  /// Calls a method, and retries the call after temporary errors until `patience` has passed.
  func call(
    _ method: String, timeout: Duration = .seconds(10), patience: Duration = .zero,
    _ build: (inout MessageWriter) -> Void
  ) async throws -> MessageReader {
    let end = ContinuousClock.now + patience.bounded
    var pause = Duration.milliseconds(50)
    while true {
      do {
        return try await grpc.call(method, timeout: timeout, build)
      } catch let error as GRPCError where error.isTransient && .now + pause < end {
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(1))
      }
    }
  }

  /// Converts a connection error to the error that the caller of a procedure receives.
  func error(_ error: any Error, of procedure: RemoteName) -> any Error {
    switch error {
    case let error as GRPCError:
      RemoteError(error.isTransient ? .connectionLost : .refused, procedure: procedure, reason: "\(error)")
    case is MessageReader.Malformed:
      RemoteError(.refused, procedure: procedure, reason: "the server's response is not a valid message")
    default: error
    }
  }
}

/// Payloads, which consist of bytes and the name of their encoding.
extension MessageWriter {
  mutating func writePayloads(_ field: Int, _ data: [UInt8]) {
    write(field) {
      $0.write(1) {
        $0.write(1) {
          $0.write(1, "encoding")
          $0.write(2, "json/plain")
        }
        $0.write(2, data)
      }
    }
  }
}

extension MessageReader {
  /// Returns the data of the first payload in a field, or an empty array if there is none.
  func payload(_ field: Int) throws -> [UInt8] { try message(field).message(1).bytes(2) }

  /// Returns the progress that a worker sent as the details of its heartbeat.
  func progress(_ field: Int) throws -> RemoteProgress? {
    let data = try payload(field)
    return data.isEmpty ? nil : try? JSONProcedureCoder().decode(RemoteProgress.self, from: data)
  }
}
