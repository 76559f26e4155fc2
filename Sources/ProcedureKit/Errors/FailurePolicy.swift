/// How a graph, or a procedure with children, responds when one of its nodes or children fails.
///
/// A graph does not respond to a failure that every consumer takes as ``Node/asResult``.
public enum ErrorPolicy: Sendable, Hashable {
  /// The first failure cancels all executing nodes or children, starts no further ones, and becomes the error of the graph or the procedure.
  case failFast
  /// Every node or child that does not depend on a failed one still executes. The graph or the procedure then fails with
  /// ``ProcedureError/Kind/childrenFailed``, which carries all errors.
  case `continue`
}

/// How the work on a collection responds when one of its elements fails.
///
/// To receive a `Result` for each element, use ``Procedure/asResult``: `map(urls, with: Download().asResult)`.
///
/// An element whose condition is not satisfied is ignored, not failed; every policy omits ignored elements.
public enum ElementFailurePolicy: Sendable, Hashable {
  /// The first failure cancels the remaining elements, and fails the collection with the error.
  case failFast
  /// All elements are processed. The collection then fails with ``ProcedureError/Kind/childrenFailed``.
  case collect
  /// Failed elements are omitted from the result.
  case drop
}

/// The failure of a node of a graph, an element of a collection, a child, or a body with children.
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
