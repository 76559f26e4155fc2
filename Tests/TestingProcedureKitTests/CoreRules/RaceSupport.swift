import TestingProcedureKit

/// Yields to whatever else is ready, some times.
func pause(_ env: any ProgramWorld, upTo limit: Int = 8) async {
  for _ in 0..<env.randomNumber(below: limit + 1) { await Task.yield() }
}

struct Reason: Error, Equatable {
  var text = "because"
}

extension ProcedureOutcome {
  /// The kind of outcome in a word, for tallies.
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
  static func < (lhs: ProcedureState, rhs: ProcedureState) -> Bool { lhs.rawValue < rhs.rawValue }
  static func <= (lhs: ProcedureState, rhs: ProcedureState) -> Bool { lhs.rawValue <= rhs.rawValue }
}
