public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable {
  /// Returns the procedure with a time limit that also counts time during which no process is running; a journal stores the time of the
  /// first start.
  ///
  /// The limit is measured with the journal's clock, ``ProcedureJournal/timeSince1970``. If the clock is set back, the remaining time is at
  /// most the whole limit. When the procedure has ended, the next run has the whole time again. A run that was cancelled keeps its start
  /// time. Two concurrent runs with equal inputs share the start time. Each run costs two appends. Otherwise, the modifier behaves like
  /// `timeout(_:)`.
  ///
  /// - Parameters:
  ///   - duration: The time limit. A limit that is not positive means no limit.
  ///   - journal: The journal.
  ///   - key: The name of the procedure in the journal. Two procedures that share a journal need different names.
  /// - Returns: The procedure with the limit.
  public func timeout(
    _ duration: Duration, countedIn journal: any ProcedureJournal, as key: String
  ) -> ProcedureTask<Input, Output> {
    procedureTask.timeout(duration, JournalEntryLocation(journal, key, 1, false) { try $1.encode($0) })
  }
}

extension Procedure where Input == Void {
  /// For a procedure without an input, returns the procedure with a time limit that also counts time during which no process is running;
  /// see `timeout(_:countedIn:as:)`.
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
      // 0 stands for a missing start time, so a start time is stored one millisecond too late, because a journal's clock can begin at 0.
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
