@testable import ProcedureKit

extension ResourceLedger.ClaimRuns {
  /// Runs on no queue.
  init(own: UInt64, around: [UInt64] = []) {
    self.init(own: .init(run: own), around: around.map { .init(run: $0) })
  }
}
