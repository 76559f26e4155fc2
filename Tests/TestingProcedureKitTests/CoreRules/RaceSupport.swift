import TestingProcedureKit

/// Yields several times to other ready jobs.
func pause(_ env: any ProgramWorld, upTo limit: Int = 8) async {
  for _ in 0..<env.randomNumber(below: limit + 1) { await Task.yield() }
}

struct Reason: Error, Equatable {
  var text = "because"
}

extension ProcedureOutcome {
  /// The kind of the outcome as one word, for tallies.
  var label: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .ignored: "ignored"
    }
  }
}

extension ProcedureState {
  /// The order of the states of a run without pauses.
  private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  static func < (lhs: ProcedureState, rhs: ProcedureState) -> Bool { lhs.order < rhs.order }
  static func <= (lhs: ProcedureState, rhs: ProcedureState) -> Bool { lhs.order <= rhs.order }
}
