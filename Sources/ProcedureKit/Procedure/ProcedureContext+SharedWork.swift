extension ProcedureContext {
  /// Executes `operation`, or has what another execution with the same key comes to.
  ///
  /// Whoever executes holds a resource, and the others stand in its line: so they hold no slot, come in order, can be
  /// cancelled, and a circle of such waits is found like any other.
  ///
  /// - Parameters:
  ///   - key: Says which work it is.
  ///   - name: Whose work it is, for errors.
  ///   - operation: The work.
  /// - Returns: What this or another execution of it returns.
  /// - Throws: What that throws; ``ProcedureError/exclusionDeadlock(procedure:circle:)``; the reason of a cancel.
  func sharing<Output: Sendable>(
    _ key: InternedKey, name: String, operation: () async throws -> Output
  ) async throws -> Output {
    let works = scope.resourceTable.sharedWork
    let entry = SharedWorkTable.Key(key: key, output: ObjectIdentifier(Output.self))
    let work: SharedWork<Output> = works.join(entry)
    defer { works.leave(work, entry) }
    return try await holding(ResourceRequest(sharedWork: entry), name: name) {
      if let result = work.result { return try result.get() }
      let result: Result<Output, any Error>
      do {
        result = .success(try await operation())
      } catch {
        result = .failure(error)
      }
      if !isCancelled {
        work.finish(result)
        works.close(work, entry)
      }
      return try result.get()
    }
  }
}
