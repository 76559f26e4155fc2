extension ProcedureTask {
  /// Executes the operation once for all that ask for the key at the same time: the first claims the key, the others take its result.
  static func coalesced(_ task: ProcedureTask, by key: InternedKey) -> ProcedureTask {
    let entry = SharedWorkTable.Key(key: key, output: ObjectIdentifier(Output.self))
    return task.wrapped { (input: Input) in
      let works = ProcedureContext.ofBody(task.name).run.core.resources.sharedWork
      let work: ResultBox<Output> = works.join(entry)
      defer { works.leave(work, entry) }
      let turn = ProcedureTask<Input, Output>(task.name) { input in
        if let result = work.result { return try result.get() }
        let result: Result<Output, any Error>
        do {
          result = .success(try await task.executeAsLevel(input))
        } catch {
          result = .failure(error)
        }
        if ProcedureContext.current?.isCancelled != true {
          work.store(result)
          works.close(work, entry)
        }
        return try result.get()
      }
      return try await turn.changing { $0.demands.append(.init(sharedWork: entry)) }.executeAsLevel(input)
    }
  }
}
