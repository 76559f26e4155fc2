public import ProcedureKit
internal import ProcedureKitFoundation

/// A type that executes calls elsewhere: in another process, on another machine, or in a distributed engine.
///
/// An adapter for an engine implements this protocol on the client side, and ``RemoteTaskSource`` on the worker side.
public protocol ProcedureExecutor: Sendable {
  /// The maximum size of an input or a value, in bytes. By default, there is no limit.
  var payloadLimit: Int { get }

  /// Has a worker execute a call, possibly more than once, and waits until the execution ends.
  ///
  /// After an error of kind ``RemoteError/Kind/connectionLost``, the client can make the same call again. If an execution with the call's
  /// key is in progress, the call must join that execution instead of starting another one. If such an execution has returned a value, the
  /// call must receive that value.
  ///
  /// Cancelling the caller cancels the execution. If other callers are waiting for it, an executor can let the execution continue instead.
  /// The function throws `CancellationError` when the execution ends, or after ``RemoteLimits/heartbeatTimeout``, whichever comes first.
  ///
  /// - Parameter call: The call to execute.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` if the procedure throws an error; ``RemoteError`` if the call fails for another reason;
  ///   `CancellationError` if the caller is cancelled.
  func execute(_ call: RemoteCall) async throws -> [UInt8]
}

extension ProcedureExecutor {
  /// The default, which means that there is no limit.
  public var payloadLimit: Int { .max }
}

/// An executor that executes calls immediately in this process, but encodes and decodes all inputs, values, and errors. Use it in tests or
/// as an example of a simple adapter.
///
/// To test with workers that can be lost, use ``LocalEngine``.
public struct LocalExecutor: ProcedureExecutor {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  /// The maximum size of an input or a value, in bytes.
  public let payloadLimit: Int

  /// Creates an executor.
  ///
  /// - Parameters:
  ///   - registry: The procedures that can be called.
  ///   - queue: The queue that executes the procedures.
  ///   - payloadLimit: The maximum size of an input or a value, in bytes.
  public init(_ registry: ProcedureRegistry, queue: ProcedureQueue = .shared, payloadLimit: Int = .max) {
    (self.registry, self.queue, self.payloadLimit) = (registry, queue, payloadLimit)
  }

  /// Executes a call in the caller's task; see ``ProcedureExecutor/execute(_:)``. Cancelling the caller cancels the procedure.
  ///
  /// - Parameter call: The call to execute.
  /// - Returns: The encoded value.
  /// - Throws: ``RemoteFailure`` if the procedure cannot be executed, does not succeed, or returns a value that is too large.
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
