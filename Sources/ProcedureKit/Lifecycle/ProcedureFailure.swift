/// The failure of one node of a graph, one element of a collection, one child, or the body with children.
public struct ProcedureFailure: Sendable {
  /// The failed run.
  public let procedure: ProcedureIdentity
  /// The error of the run.
  public let error: any Error

  /// Pairs a run with its error.
  ///
  /// - Parameters:
  ///   - procedure: The failed run.
  ///   - error: The error of the run.
  public init(procedure: ProcedureIdentity, error: any Error) {
    self.procedure = procedure
    self.error = error
  }
}
