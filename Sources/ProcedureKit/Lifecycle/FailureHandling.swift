/// The destination of the failures of added procedures.
enum FailureHandling: Sendable {
  /// A scope collects the failures, cancels the rest as the policy says, and throws at its end; `afterwards` is as for `unobserved`.
  case scope(ErrorPolicy, afterwards: (@Sendable (ProcedureFailure) -> Void)?)
  /// The function is called with each failure that no handle has shown to anybody; `nil` writes to the log.
  case unobserved((@Sendable (ProcedureFailure) -> Void)?)
}
