public import ProcedureKit
internal import ProcedureKitFoundation

/// Executes calls elsewhere: in another process, on another machine, or in a distributed engine.
///
/// An adapter for an engine implements this protocol for the client side, and ``RemoteTaskSource`` for the worker side.
public protocol ProcedureExecutor: Sendable {
  /// The largest number of bytes in an input or a value. Default: no limit.
  var payloadLimit: Int { get }

  /// Executes a call at least once, and waits until it has ended.
  ///
  /// The same call can be made again after ``RemoteError/Kind/connectionLost``, and must then find its first execution. A call with the key
  /// of an execution in progress joins it, and a call with the key of a finished execution receives its value.
  ///
  /// Cancelling the caller cancels the execution. The function then throws `CancellationError` when the execution has ended, at the latest
  /// after ``RemoteLimits/heartbeatTimeout``.
  ///
  /// - Parameter call: The call.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` if the procedure throws an error; ``RemoteError`` if the engine fails; `CancellationError`.
  func execute(_ call: RemoteCall) async throws -> [UInt8]
}

extension ProcedureExecutor {
  /// The default: no limit.
  public var payloadLimit: Int { .max }
}

/// An executor that executes calls immediately in this process, but encodes and decodes everything: for tests, and as the simplest adapter.
///
/// ``LocalEngine`` also simulates workers that can be lost.
public struct LocalExecutor: ProcedureExecutor {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  /// The largest number of bytes in an input or a value.
  public let payloadLimit: Int

  /// Creates an executor.
  ///
  /// - Parameters:
  ///   - registry: The procedures.
  ///   - queue: The queue that executes the procedures.
  ///   - payloadLimit: The largest number of bytes in an input or a value.
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
