public import ProcedureKit

extension Procedure {
  /// Returns a procedure that is executed elsewhere, with input, value and errors as JSON; see
  /// `remote(on:as:coder:limits:key:onProgress:)` of ProcedureKit. A cancel is passed on to the worker.
  ///
  /// - Parameters:
  ///   - executor: The executor.
  ///   - signature: The agreement with the workers.
  ///   - limits: The time limits of each call.
  ///   - key: Returns the name of the work for an input, the same in each process; `nil` makes each call work of its own.
  ///   - onProgress: Receives each new progress of the execution. The function must return soon.
  /// - Returns: The procedure.
  public func remote(
    on executor: any ProcedureExecutor, as signature: RemoteSignature<Input, Output>,
    limits: RemoteLimits = RemoteLimits(), key: (@Sendable (Input) -> String)? = nil,
    onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) -> ProcedureTask<Input, Output> {
    remote(
      on: executor, as: signature, coder: JSONProcedureCoder(), limits: limits, key: key, onProgress: onProgress)
  }

  /// Returns a procedure that is executed elsewhere, under its own name, in version 1, with input, value and errors as JSON.
  /// A cancel is passed on to the worker.
  public func remote(on executor: any ProcedureExecutor) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, coder: JSONProcedureCoder())
  }
}

extension ProcedureRegistry {
  /// Makes an empty registry, with inputs, values and errors as JSON.
  public init() {
    self.init(coder: JSONProcedureCoder())
  }
}
