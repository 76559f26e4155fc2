public import ProcedureKit
public import ProcedureKitFoundation

extension Procedure {
  /// Returns a procedure that a worker executes, and that has the name of this one.
  ///
  /// ```swift
  /// let small = ResizeImage(size: .small).remote(on: executor, as: .resize)
  /// ```
  ///
  /// On the caller's side, only the name, the priority and the key of this procedure are used. The body and the modifiers written before
  /// `remote` are executed by the worker, if the procedure is registered there with them. Modifiers written after `remote` are applied by
  /// the caller: `retry` makes another call, with another attempt in the key, and `timeout` cancels the call. The call holds a slot of its
  /// queue until it ends.
  ///
  /// The procedure is executed at least once: a worker that was lost may have done all the work, and another worker does it again. Make the
  /// effects idempotent; ``RemoteExecution/key`` is the same for each of the executions.
  ///
  /// A cancellation is passed on to the worker, and the procedure ends when the execution has ended, at the latest after
  /// ``RemoteLimits/heartbeatTimeout``.
  ///
  /// The progress of the execution is reported as the progress of the procedure; see `ProcedureContext.progress`. Reported progress never
  /// decreases: when another worker repeats the work, the progress stays at the lost worker's value until the new worker's progress exceeds
  /// it.
  ///
  /// - Parameters:
  ///   - executor: The executor.
  ///   - signature: What the caller and the workers agree on.
  ///   - coder: The coder for the input, the value and errors; the workers must use the same one.
  ///   - limits: The time limits of each call.
  ///   - key: Returns the name of the work for an input. The name must be the same in each process, so that a restarted process finds the
  ///     execution that it started before. `nil` makes each call separate work.
  ///   - onProgress: Called each time the current worker reports progress; another worker starts over. The function must return quickly.
  /// - Returns: The procedure. It throws a ``RemoteError`` if the engine fails, a ``RemoteFailure`` if the procedure throws an error whose
  ///   type is not in the signature, and every other error of the procedure unchanged.
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

  /// Returns a procedure that a worker executes, and that has the name of this one and the version 1; see
  /// `remote(on:as:coder:limits:key:onProgress:)`.
  public func remote(on executor: any ProcedureExecutor, coder: any ProcedureCoder) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, as: RemoteSignature(name), coder: coder)
  }
}

extension Procedure {
  /// Returns a procedure that a worker executes, with its input, value and errors encoded as JSON.
  ///
  /// See `remote(on:as:coder:limits:key:onProgress:)`. A cancellation is passed on to the worker.
  ///
  /// - Parameters:
  ///   - executor: The executor.
  ///   - signature: What the caller and the workers agree on.
  ///   - limits: The time limits of each call.
  ///   - key: Returns the name of the work for an input, which must be the same in each process; `nil` makes each call separate work.
  ///   - onProgress: Called each time the current worker reports progress. The function must return quickly.
  /// - Returns: The procedure.
  public func remote(
    on executor: any ProcedureExecutor, as signature: RemoteSignature<Input, Output>,
    limits: RemoteLimits = RemoteLimits(), key: (@Sendable (Input) -> String)? = nil,
    onProgress: @escaping @Sendable (RemoteProgress) -> Void = { _ in }
  ) -> ProcedureTask<Input, Output> {
    remote(
      on: executor, as: signature, coder: JSONProcedureCoder(), limits: limits, key: key, onProgress: onProgress)
  }

  /// Returns a procedure that a worker executes, with the name of this one and the version 1, and with its input, value and errors encoded
  /// as JSON.
  ///
  /// A cancellation is passed on to the worker.
  public func remote(on executor: any ProcedureExecutor) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, coder: JSONProcedureCoder())
  }
}

extension ProcedureRegistry {
  /// Creates an empty registry that encodes inputs, values and errors as JSON.
  public init() {
    self.init(coder: JSONProcedureCoder())
  }
}
