/// What a graph does when a node fails and nothing takes the failure as ``Node/result``.
public enum GraphErrorPolicy: Sendable, Hashable {
  /// The first failure cancels what executes and starts nothing more; the graph fails with that error.
  case failFast
  /// Everything that does not depend on a failed node is executed all the same; then the graph fails with
  /// ``ProcedureError/partsFailed(procedure:failures:)``, which has all errors.
  case `continue`
}
