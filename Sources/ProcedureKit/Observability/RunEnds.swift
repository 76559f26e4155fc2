import Synchronization

/// The ends of a queue's top-level runs, recorded for a model that shows them. A run started by a body on the same queue is not a
/// top-level run.
///
/// Every end is counted, and the newest ends are kept until a model takes them. The recorded end of a failed run retains that run. A
/// failure that a model shows is not reported as unobserved. If the end of a failed run is dropped before a model takes it, the failure is
/// reported like any other.
///
/// The class is `package` because `ProcedureKitFoundation` uses it.
package final class RunEnds: Sendable {
  /// The end of one run.
  package struct End: Sendable {
    package let procedure: ProcedureIdentity
    package let outcome: ProcedureOutcome<Void>
    /// The number of attempts that have started.
    package let attempts: Int
    private let failed: Run?

    init(_ run: Run, _ outcome: ProcedureOutcome<Void>, attempts: Int) {
      (procedure, self.outcome, self.attempts) = (run.identity, outcome, attempts)
      failed = if case .failed = outcome { run } else { nil }
    }

    /// Records that the failure, if there is one, has been shown, so that it is not reported as unobserved.
    package func setObserved() { failed?.setObserved() }
  }

  /// The number of runs that have ended, by outcome.
  package struct Counts: Sendable {
    package private(set) var finished = 0
    package private(set) var failed = 0
    package private(set) var cancelled = 0
    package private(set) var ignored = 0

    fileprivate mutating func add(_ outcome: ProcedureOutcome<Void>) {
      switch outcome {
      case .finished: finished += 1
      case .failed: failed += 1
      case .cancelled: cancelled += 1
      case .ignored: ignored += 1
      }
    }
  }

  private struct Contents {
    /// The ends of the runs that have finished most recently, and that no model has read yet.
    var ends = Deque<End>()
    var counts = Counts()
  }

  private let limit: Int
  private let contents = Mutex(Contents())

  /// Creates an empty collection of ends.
  ///
  /// - Parameter limit: The maximum number of ends to keep until they are taken.
  package init(limit: Int) {
    self.limit = limit
  }

  /// Adds the end of a run. If the collection is full, the oldest end is dropped.
  ///
  /// - Returns: The end that was dropped, if any. It must be released while no lock is held, because it can refer to the user's objects.
  fileprivate func append(_ end: End) -> End? {
    contents.withLock { contents in
      contents.counts.add(end.outcome)
      contents.ends.append(end)
      return contents.ends.count > limit ? contents.ends.popFirst() : nil
    }
  }

  /// Removes and returns the kept ends, oldest first, together with the counts of all ends so far.
  package func take() -> (ends: [End], counts: Counts) {
    contents.withLock { contents in
      defer { contents.ends = Deque() }
      return (contents.ends.all, contents.counts)
    }
  }
}

extension QueueCore {
  /// Starts collecting the ends of the queue's runs in `ends`.
  package func collect(_ ends: RunEnds) { send { state, _ in state.ends.append(ends) } }

  /// Stops collecting ends in `ends`, and drops those that were not taken.
  package func stopCollecting(_ ends: RunEnds) {
    send { state, _ in state.ends.removeAll { $0 === ends } }
    _ = ends.take()
  }

  /// Adds the end of a run to the collections, unless a body on this queue started the run.
  func addEnd(of run: Run, _ outcome: ProcedureOutcome<Void>, _ state: inout State, _ effects: inout Effects) {
    guard !isAround(run.parent) else { return }
    let end = RunEnds.End(run, outcome, attempts: run.attempts(state))
    for ends in state.ends {
      if let dropped = ends.append(end) { effects.add(.event(.release(dropped))) }
    }
  }
}
