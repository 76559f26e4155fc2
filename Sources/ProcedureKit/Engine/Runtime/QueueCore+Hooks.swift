/// Internal. The hooks of a queue around the body of one run.
extension QueueCore {
  /// Whether there may be something to call around bodies.
  @usableFromInline var hooksBodies: Bool { hooks != nil }

  /// Calls a body between the hooks that are called before and after it.
  func hooked<Input: Sendable, Output: Sendable>(
    _ procedure: ProcedureIdentity, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output,
    _ input: Input
  ) async throws -> Output {
    var task = ProcedureTask<Input, Output>(procedure.name, operation: operation)
    if let hook = hooks?.onDidExecute { task = task.onDidExecute { try await hook(procedure, $0.withoutValue) } }
    if let hook = hooks?.onWillExecute { task = task.onWillExecute { _ in try await hook(procedure) } }
    return try await task.operation(input)
  }
}
