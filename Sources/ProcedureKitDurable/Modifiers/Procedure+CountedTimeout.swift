public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable {
  /// Returns the procedure with a time limit that also counts time in which no process runs; a journal stores the first start.
  ///
  /// The clock is the journal's, ``ProcedureJournal/timeSince1970``; if the clock is set back, at most the whole limit is left.
  /// When the procedure has ended, the next run starts with the whole time. A run that was cancelled keeps its start. Two concurrent runs
  /// with equal inputs share the start. Each run costs two appends. Otherwise this is `timeout(_:)`.
  ///
  /// - Parameters:
  ///   - duration: The time limit. A limit that is not positive means no limit.
  ///   - journal: The journal.
  ///   - key: The name in the journal. Two procedures in one journal need different names.
  /// - Returns: The procedure with the limit.
  public func timeout(
    _ duration: Duration, countedIn journal: any ProcedureJournal, as key: String
  ) -> ProcedureTask<Input, Output> {
    procedureTask.timeout(duration, JournalEntryLocation(journal, key, 1, false) { try $1.encode($0) })
  }
}

extension Procedure where Input == Void {
  /// Returns a procedure without an input with a time limit that also counts time in which no process runs; see
  /// `timeout(_:countedIn:as:)`.
  public func timeout(
    _ duration: Duration, countedIn journal: any ProcedureJournal, as key: String
  ) -> ProcedureTask<Input, Output> {
    procedureTask.timeout(duration, JournalEntryLocation(journal, key, 1, false) { _, _ in [] })
  }
}

extension ProcedureTask {
  fileprivate func timeout(_ duration: Duration, _ place: JournalEntryLocation<Input>) -> ProcedureTask {
    guard duration > .zero else { return self }
    return wrapped { input in
      let context = ProcedureContext.requireCurrent(for: name)
      let start = JournalNumber(journal: place.journal, key: try place.key(of: input, for: "start").key)
      let now = place.journal.timeSince1970
      let before = try await start.read()
      // A missing start is written as 0, and a start one millisecond late, since the clock of a journal can begin at 0.
      if before == 0 { try await start.write(Int64(now / .milliseconds(1)) + 1) }
      let passed = before == 0 ? .zero : max(now - .milliseconds(before) + .milliseconds(1), .zero)
      do {
        guard passed < duration else {
          throw ProcedureError.timedOut(procedure: context.run.layerIdentity, duration: passed, hasStarted: false)
        }
        let output = try await timeout(duration - passed).executeAsLayer(input)
        try await start.write(0)
        return output
      } catch {
        if !context.isCancelled { try await start.write(0) }
        throw error
      }
    }
  }
}
