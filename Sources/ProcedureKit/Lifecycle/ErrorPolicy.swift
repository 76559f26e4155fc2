/// How a graph, or a procedure with children, responds when one of its nodes or children fails.
///
/// A graph does not respond to a failure that every consumer takes as ``Node/asResult``.
public enum ErrorPolicy: Sendable, Hashable {
  /// The first failure cancels all executing parts, starts no further part, and becomes the error of the graph or the
  /// procedure.
  case failFast
  /// Every part that does not depend on a failed part still executes. The graph or the procedure then fails with
  /// ``ProcedureError/Kind/partsFailed``, which carries all errors.
  case `continue`
}
