public import ProcedureKit
internal import ProcedureKitFoundation

/// Executes calls elsewhere: in another process, on another machine, by a distributed engine.
///
/// An adapter for an engine implements this protocol for the calling side, and ``RemoteTaskSource`` for the working side.
public protocol ProcedureExecutor: Sendable {
  /// The largest number of bytes of an input or a value. Default: no limit.
  var payloadLimit: Int { get }

  /// Executes a call, at least once, and waits for the end.
  ///
  /// The same call can be repeated after ``RemoteError/Kind/connectionLost``, and must then find its first execution. A call with
  /// the key of an execution in progress joins it, and a call with the key of a finished execution receives the value.
  ///
  /// Cancelling the caller cancels the execution. The function returns when the execution has ended, at the latest after
  /// ``RemoteLimits/heartbeatTimeout``, with `CancellationError`.
  ///
  /// - Parameter call: The call.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` for an error of the procedure; ``RemoteError`` for an error of the engine; `CancellationError`.
  func execute(_ call: RemoteCall) async throws -> [UInt8]
}

extension ProcedureExecutor {
  /// No limit.
  public var payloadLimit: Int { .max }
}

/// An executor that immediately executes in this process, with everything encoded and decoded: for tests, and as the simplest adapter.
///
/// ``LocalEngine`` also has workers that can be lost.
public struct LocalExecutor: ProcedureExecutor {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  /// The largest number of bytes of an input or a value.
  public let payloadLimit: Int

  /// Creates an executor.
  ///
  /// - Parameters:
  ///   - registry: The procedures.
  ///   - queue: The queue that executes the procedures.
  ///   - payloadLimit: The largest number of bytes of an input or a value.
  public init(_ registry: ProcedureRegistry, queue: ProcedureQueue = .shared, payloadLimit: Int = .max) {
    (self.registry, self.queue, self.payloadLimit) = (registry, queue, payloadLimit)
  }

  /// Executes a call in the caller's task; see ``ProcedureExecutor/execute(_:)``. Cancelling the caller cancels the procedure.
  ///
  /// - Parameter call: The call.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure``.
  public func execute(_ call: RemoteCall) async throws -> [UInt8] {
    let result = await RemoteExecution(call, delivery: 1, onProgress: call.onProgress).bound {
      await registry.execute(call, on: queue, payloadLimit: payloadLimit)
    }
    switch result {
    case .success(let output): return output
    case .failure(let failure):
      throw try registry.coder.decode(RemoteFailure.self, from: registry.coder.encode(failure))
    }
  }
}
