import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitRemote

/// The connection to a Temporal server: its namespace and one task queue.
public struct TemporalConnection: Sendable {
  /// The largest size of inputs and values that the server transports, which is 2 MiB.
  public static let payloadLimit = 2_000_000

  let grpc: GRPCClient
  let namespace: String
  let taskQueue: String
  /// The name of this process in the server's records.
  let identity: String

  /// Creates a connection. Nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - host: The address of the server's gRPC port.
  ///   - taskQueue: The queue in which calls wait for workers. Any name can be used.
  ///   - namespace: The namespace, which must exist.
  public init(host: String = "127.0.0.1:7233", taskQueue: String, namespace: String = "default") {
    grpc = GRPCClient(host: host, service: "temporal.api.workflowservice.v1.WorkflowService")
    (self.taskQueue, self.namespace) = (taskQueue, namespace)
    identity = "\(ProcessInfo.processInfo.processName) \(ProcessInfo.processInfo.processIdentifier)"
  }

  /// Waits until the server answers. Cancelling the caller ends the wait.
  ///
  /// - Parameter limit: The longest wait.
  /// - Throws: The last error; `CancellationError`.
  public func waitUntilReady(atMost limit: Duration) async throws {
    _ = try await call("DescribeNamespace", patience: limit) { $0.write(1, namespace) }
  }

  /// Calls a method, and retries after temporary errors until `patience` is over.
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

  /// Returns the error for the caller of a procedure.
  func error(_ error: any Error, of procedure: RemoteName) -> any Error {
    switch error {
    case let error as GRPCError:
      RemoteError(error.isTransient ? .connectionLost : .refused, procedure: procedure, reason: "\(error)")
    case is MessageReader.Malformed:
      RemoteError(.refused, procedure: procedure, reason: "the server's answer is not a valid message")
    default: error
    }
  }
}

/// Payloads: bytes with a note about their encoding.
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
  /// The data of the first payload; empty if there is none.
  func payload(_ field: Int) throws -> [UInt8] { try message(field).message(1).bytes(2) }

  /// A progress that a worker has sent as its heartbeat's details.
  func progress(_ field: Int) throws -> RemoteProgress? {
    let data = try payload(field)
    return data.isEmpty ? nil : try? JSONProcedureCoder().decode(RemoteProgress.self, from: data)
  }
}
