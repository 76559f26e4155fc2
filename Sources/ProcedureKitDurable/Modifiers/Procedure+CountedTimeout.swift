public import ProcedureKit
internal import ProcedureKitFoundation

extension Procedure where Input: Encodable {
  /// Returns the procedure with a time limit that applies across processes. Time during which no process is running counts towards the
  /// limit, because a journal stores the time at which the procedure first started.
  ///
  /// The time is measured with the journal's clock, ``ProcedureJournal/timeSince1970``. Even if the clock is set back, the remaining time
  /// never exceeds the limit. When the procedure succeeds or fails, the start time is removed, so the full limit applies to the next run.
  /// If the procedure is cancelled, the start time is kept. Two concurrent runs with equal inputs share the start time. The modifier
  /// appends at most two entries to the journal for each run. Otherwise, it behaves like `timeout(_:)`.
  ///
  /// - Parameters:
  ///   - duration: The time limit. If it is zero or negative, the time is not limited.
  ///   - journal: The journal that stores the start time.
  ///   - key: The name of the procedure in the journal. Two procedures that share a journal need different names.
  /// - Returns: The procedure with the time limit.
  public func timeout(
    _ duration: Duration, countedIn journal: any ProcedureJournal, as key: String
  ) -> ProcedureTask<Input, Output> {
    procedureTask.timeout(duration, JournalEntryLocation(journal, key, 1, false) { try $1.encode($0) })
  }
}

extension Procedure where Input == Void {
  /// Returns the procedure with a time limit that applies across processes. This overload is for procedures without an input; see
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
      // The number 0 means that there is no start time. A journal's clock can begin at 0, so the stored number is one millisecond greater
      // than the start time.
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
