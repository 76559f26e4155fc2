/// Internal. Executing parts of a body that end by themselves.
extension ProcedureContext {
  /// Executes one attempt of several, in the current task. What it produces ends before it does.
  ///
  /// - Parameters:
  ///   - attempt: Which one.
  ///   - operation: The attempt.
  /// - Returns: What `operation` returns.
  /// - Throws: What `operation` throws, or its children have come to.
  func executePart<R>(attempt: Int, _ operation: () async throws -> R) async throws -> R {
    let part = PartScope(of: self)
    let result = await withRunCancellationHandler(in: self, key: part) {
      await ProcedureContext(part, of: self, attempt: attempt).settled(operation)
    } onCancel: {
      part.children?.cancel(cancellationReason)
    }
    return try await end(part, result)
  }

  /// Executes a part in a task of its own, which is stopped when its time is over.
  ///
  /// - Parameters:
  ///   - limit: How long it may take.
  ///   - name: Of whose level it is, for the error.
  ///   - start: Knows whether its body has started; `nil` if that is all that there is.
  ///   - operation: The part. It is waited for, also when its time is over.
  /// - Returns: What `operation` returns.
  /// - Throws: ``ProcedureError/timedOut(procedure:duration:hasStarted:)``; what `operation` throws, or its children have come to.
  func executePart<R: Sendable>(
    within limit: Duration, name: String, startingAt start: BodyStart? = nil,
    _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    let part = PartScope(of: self)
    let identity = ProcedureIdentity(id: id, name: name)
    let timers = scope.timers
    let timer = timers.schedule(after: limit) {
      part.stop(
        ProcedureError.timedOut(procedure: identity, duration: limit, hasStarted: start?.hasHappened ?? true))
    }
    let result = await executeAlone(part, attempt: attempt, operation)
    timers.cancel(timer)
    return try await end(part, result)
  }

  /// What a part has come to. If it was stopped, it may have been in a pause; what follows is not to go on in that.
  private func end<R>(_ part: PartScope, _ result: Result<R, any Error>) async throws -> R {
    do {
      try part.end()
      return try result.get()
    } catch  where !isCancelled {
      try await takeUpAgain()
      throw error
    }
  }

  /// Executes a part in a task of its own, so that it can be stopped alone.
  private func executeAlone<R: Sendable>(
    _ part: PartScope, attempt: Int, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async -> Result<R, any Error> {
    let context = ProcedureContext(part, of: self, attempt: attempt)
    let work = CancellableWork()
    do {
      let value = try await withRunCancellationHandler(in: context, key: work) {
        try await work.execute(startsAtOnce: !isDeep) { try await context.settled(operation).get() }
      } onCancel: {
        part.children?.cancel(cancellationReason)
        work.cancel()
      }
      return .success(value)
    } catch {
      return .failure(error)
    }
  }

  /// Whether so much is around it that nothing more ought to start on the same stack.
  var isDeep: Bool {
    sequence(first: self, next: \.scope.parent).dropFirst(16).contains { _ in true }
  }

  /// Calls `operation` in this context, and waits for what it produces.
  func settled<R>(_ operation: () async throws -> R) async -> Result<R, any Error> {
    var result: Result<R, any Error>
    do {
      result = .success(try await run(operation))
    } catch {
      result = .failure(error)
    }
    guard scope.endProduction() != nil else { return result }
    do {
      result = .success(try await settleChildren(result))
    } catch {
      result = .failure(error)
    }
    return result
  }
}
