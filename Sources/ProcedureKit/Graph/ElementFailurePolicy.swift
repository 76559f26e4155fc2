/// How the work on a collection responds when one of its elements fails.
///
/// To have a `Result` for each element, in its place, use ``Procedure/asResult``: `map(urls, with: Download().asResult)`.
///
/// An element whose condition is not satisfied is ignored, not failed; every policy omits ignored elements.
public enum ElementFailurePolicy: Sendable, Hashable {
  /// The first failure cancels the remaining elements, and fails the collection with the error.
  case failFast
  /// All elements are processed. The collection then fails with ``ProcedureError/Kind/partsFailed``.
  case collect
  /// Failed elements are omitted from the result.
  case drop
}
