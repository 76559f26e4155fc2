public import ProcedureKit
public import ProcedureKitFoundation

extension Procedure {
  /// Returns a procedure that is executed elsewhere, under the name of this one.
  ///
  /// ```swift
  /// let small = ResizeImage(size: .small).remote(on: executor, as: .resize)
  /// ```
  ///
  /// Only the name, the priority and the key of this procedure are used here; the body and the modifiers written before `remote` belong
  /// to the worker, so far as the procedure is registered there with them. Modifiers written after `remote` are used here: `retry` calls again, with another
  /// attempt in the key, and `timeout` cancels the call. The call holds a slot of its queue until it ends.
  ///
  /// The procedure is executed at least once: a worker that is lost may have done all of the work, and another worker does it again. Make the effects
  /// idempotent; ``RemoteExecution/key`` is the same for each of the executions.
  ///
  /// A cancel is passed on to the worker, and the procedure ends when the execution has ended, at the latest after
  /// ``RemoteLimits/heartbeatTimeout``.
  ///
  /// The progress of the execution is that of the procedure here, see `ProcedureContext.progress`. As everywhere, what is shown never goes
  /// back: when another worker begins the work again, the procedure stays as far as the lost one had come, until the new one is further.
  ///
  /// - Parameters:
  ///   - executor: The executor.
  ///   - signature: The agreement with the workers.
  ///   - coder: The coder of input, value and errors: the one of the workers.
  ///   - limits: The time limits of each call.
  ///   - key: Returns the name of the work for an input: the same in each process, so that a process that is started again finds the
  ///     execution of the former one. `nil` makes each call work of its own.
  ///   - onProgress: Receives each new progress of the execution, as the present worker tells it: another worker begins again. The function
  ///     must return soon.
  /// - Returns: The procedure. It throws ``RemoteError`` for an error of the engine, ``RemoteFailure`` for an error of the procedure whose
  ///   type is not in the signature, and every other error of the procedure as it was.
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

  /// Returns a procedure that is executed elsewhere, under its own name, in version 1; see
  /// `remote(on:as:coder:limits:key:onProgress:)`.
  public func remote(on executor: any ProcedureExecutor, coder: any ProcedureCoder) -> ProcedureTask<Input, Output>
  where Input: Codable, Output: Codable {
    remote(on: executor, as: RemoteSignature(name), coder: coder)
  }
}

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
