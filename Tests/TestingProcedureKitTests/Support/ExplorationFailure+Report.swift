import TestingProcedureKit

extension ExplorationFailure {
  /// The report without the steps. The places of the steps take long to look up, and the other lines do not depend on them.
  var reportWithoutSteps: String {
    var failure = self
    failure.trace = nil
    return failure.description
  }
}
