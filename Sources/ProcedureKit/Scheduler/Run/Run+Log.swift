extension Run {
  /// The log for messages of this run, which adds the identity of the run to each message.
  var log: ProcedureLog {
    core.log.from { [self] in
      let run = reported
      return core.logFacts(of: identity, attempt: Int(attempt), parent: run.parent?.reported.id)
    }
  }

  /// The names of the procedures for which a warning about endless retries has already been logged.
  private static let endlessRetries = Locked<Set<ByteText>>([])

  /// Warns about retries with neither a delay nor a limit, once for each name, and for at most 1,000 names.
  func warnOfEndlessRetries() {
    let name = reported.name
    let isNew = Self.endlessRetries.withLock { $0.count < 1_000 && $0.insert(ByteText(name)).inserted }
    guard isNew else { return }
    log.log(
      level: .warning,
      "\(name.quoted) is retried without a delay and without a limit. Set maxAttempts, a budget, or a schedule with delays."
    )
  }
}
