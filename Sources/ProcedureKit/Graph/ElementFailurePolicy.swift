/// What becomes of a collection when the work on one of its elements fails.
///
/// An element whose condition is not satisfied is ignored, not failed: it is left out whatever the policy.
public enum ElementFailurePolicy: Sendable, Hashable {
  /// The first failure cancels the rest, and is the error of the whole.
  case failFast
  /// All elements are worked on; then the whole fails with ``ProcedureError/partsFailed(procedure:failures:)``.
  case collect
  /// Elements that fail are left out of the result.
  case drop
}
