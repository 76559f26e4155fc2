import TestingProcedureKit

/// The numbers of runs by their outcomes.
struct OutcomeCount {
  private(set) var finished = 0
  private(set) var failed = 0
  private(set) var cancelled = 0
  private(set) var ignored = 0

  /// Counts all runs when they have finished.
  init<Output>(of handles: [ProcedureHandle<Output>]) async {
    for handle in handles {
      switch await handle.outcome {
      case .finished: finished += 1
      case .failed: failed += 1
      case .cancelled: cancelled += 1
      case .ignored: ignored += 1
      }
    }
  }

  var total: Int { finished + failed + cancelled + ignored }
}
