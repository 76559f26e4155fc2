/// What becomes of something made of parts when one of them fails: of a graph and its nodes, where nothing takes the failure
/// as ``Node/result``; of a procedure and what it has produced.
public enum ErrorPolicy: Sendable, Hashable {
  /// The first failure cancels what executes and starts nothing more; the whole fails with that error.
  case failFast
  /// Everything that does not depend on what failed is executed all the same; then the whole fails with
  /// ``ProcedureError/partsFailed(procedure:failures:)``, which has all errors.
  case `continue`
}
