extension ProcedureEvent {
  /// Why a node of a durable graph is executed although the journal has a value of the node, or of others of the graph; of
  /// ``Kind-swift.struct/willExecute``. `nil` for every other run, and for a node that is executed for the first time.
  ///
  /// See `durable(in:as:version:rememberingFailures:)`. The node has the same reason in ``QueueSnapshot/Entry/executionCause``.
  public var executionCause: ExecutionCause? {
    if case .willExecute(_, _, _, let cause)? = details?.step { cause } else { nil }
  }
}
