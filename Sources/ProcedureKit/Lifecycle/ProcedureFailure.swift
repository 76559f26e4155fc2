/// One failed part: of a graph, of the work on a collection, or of a procedure and what it has produced.
public struct ProcedureFailure: Sendable {
  /// The part that failed.
  public let procedure: ProcedureIdentity
  /// What it failed with.
  public let error: any Error

  /// Pairs a part with its error.
  ///
  /// - Parameters:
  ///   - procedure: The part that failed.
  ///   - error: What it failed with.
  public init(procedure: ProcedureIdentity, error: any Error) {
    self.procedure = procedure
    self.error = error
  }
}
