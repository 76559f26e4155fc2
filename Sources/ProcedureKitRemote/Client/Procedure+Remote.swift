public import ProcedureKit
public import ProcedureKitFoundation

extension Procedure {
  /// Returns a procedure that has the same name as this one, but is executed by a worker.
  ///
  /// ```swift
  /// let small = ResizeImage(size: .small).remote(on: executor, as: .resize)
  /// ```
  ///
  /// The caller uses only the name, the priority, and the key of this procedure. The worker executes the procedure that is registered under
  /// the signature, with its body and its modifiers. The modifiers written before `remote` are applied only if they are part of the
  /// registered procedure. The caller applies the modifiers written after `remote`. For example, `retry` makes another call, whose key
  /// contains the number of the new attempt, and `timeout` cancels the call. The call holds a slot of the caller's queue until it ends.
  ///
  /// If a call returns a value, the procedure has been executed at least once. If a worker is lost, even after it has completed all the
  /// work, another worker does the work again. Therefore, make the effects of the procedure idempotent. ``RemoteExecution/key`` is the same
  /// in all executions of a call.
  ///
  /// Cancelling the procedure also cancels the execution by the worker. The procedure finishes when the execution ends, or after
  /// ``RemoteLimits/heartbeatTimeout``, whichever comes first.
  ///
  /// The progress of the execution is reported as the progress of the procedure; see `ProcedureContext.progress`. The procedure's progress
  /// never decreases. If another worker repeats the work of a lost one, the progress keeps its value until the new worker has made more
  /// progress.
  ///
  /// - Parameters:
  ///   - executor: The executor that receives the calls.
  ///   - signature: The signature under which the procedure is registered with the workers.
  ///   - coder: The coder for the input, the value, and errors. The workers must use the same coder.
  ///   - limits: The limits of each call.
  ///   - key: A closure that returns a name for the work that an input requires. The name must be the same in every process, so that a
  ///     restarted process finds the execution that it started earlier. If `key` is `nil`, each call is treated as separate work.
  ///   - onProgress: A closure that is called whenever a heartbeat brings new progress from the current worker. If another worker takes
  ///     over, its progress starts from the beginning. The closure must return quickly.
  /// - Returns: A procedure that calls the registered one. An error that the registered procedure throws is rethrown unchanged if its type
  ///   is in the signature, and otherwise usually as a ``RemoteFailure``; see ``RemoteError``. If a call fails for another reason, the
  ///   returned procedure throws a ``RemoteError``.
  public func remote(
    on executor: any ProcedureExecutor, as signature: RemoteSignature<Input, Output>, coder: any ProcedureCoder,
    limits: RemoteLimits = RemoteLimits(), key: (@Sendable (Input) -> String)? = nil,
    onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) -> ProcedureTask<Input, Output> {
    let (task, client) = (procedureTask, RemoteClient(executor: executor, signature: signature, coder: coder))
    return task.wrapped { (input: Input) in
      let (context, id) = (ProcedureContext.requireCurrent(for: task.name), RemoteCall.makeID())
      let work = RemoteCall.Key(run: key?(input) ?? id, node: task.name, attempt: context.attempt)
      let last = Locked<RemoteProgress?>(nil)
      let call = RemoteCall(
        signature.name, key: work, id: id, input: try signature.encode(input, with: coder), limits: limits
      ) { progress in
        let isNew = last.withLock { last in
          defer { last = progress }
          return last != progress
        }
        guard isNew else { return }
        if let fraction = progress.fraction { context.progress.report(fraction) }
        onProgress(progress)
      }
      return try await client.execute(call, in: context)
    }
  }

  /// Returns a procedure that has the same name as this one, but is executed by a worker. Version 1 of the procedure must be registered
  /// with the worker. For details, see `remote(on:as:coder:limits:key:onProgress:)`.
  public func remote(on executor: any ProcedureExecutor, coder: any ProcedureCoder) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, as: RemoteSignature(name), coder: coder)
  }
}

extension Procedure {
  /// Returns a procedure that is executed by a worker. The input, the value, and errors are encoded as JSON.
  ///
  /// Cancelling the procedure also cancels the execution by the worker. For details, see `remote(on:as:coder:limits:key:onProgress:)`.
  ///
  /// - Parameters:
  ///   - executor: The executor that receives the calls.
  ///   - signature: The signature under which the procedure is registered with the workers.
  ///   - limits: The limits of each call.
  ///   - key: A closure that returns a name for the work that an input requires. The name must be the same in every process. If `key` is
  ///     `nil`, each call is treated as separate work.
  ///   - onProgress: A closure that is called whenever a heartbeat brings new progress from the current worker. It must return quickly.
  /// - Returns: The procedure.
  public func remote(
    on executor: any ProcedureExecutor, as signature: RemoteSignature<Input, Output>,
    limits: RemoteLimits = RemoteLimits(), key: (@Sendable (Input) -> String)? = nil,
    onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) -> ProcedureTask<Input, Output> {
    remote(
      on: executor, as: signature, coder: JSONProcedureCoder(), limits: limits, key: key, onProgress: onProgress)
  }

  /// Returns a procedure that has the same name as this one, but is executed by a worker. Version 1 of the procedure must be registered
  /// with the worker. Its input, value, and errors are encoded as JSON.
  ///
  /// Cancelling the procedure also cancels the execution by the worker.
  public func remote(on executor: any ProcedureExecutor) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, coder: JSONProcedureCoder())
  }
}

extension ProcedureRegistry {
  /// Creates an empty registry that encodes inputs, values, and errors as JSON.
  public init() {
    self.init(coder: JSONProcedureCoder())
  }
}
