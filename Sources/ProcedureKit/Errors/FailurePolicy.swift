/// A policy that determines how a graph, a `map`, a scope or a parent procedure responds when a part of it fails.
///
/// An element whose condition is not satisfied does not count as failed: it is ignored, and omitted from the result. To omit failed
/// elements as well, use ``Procedure/replacingErrorsWithNil()``. To receive a `Result` for each element, use
/// ``Procedure/catchingErrors()``:
///
/// ```swift
/// let pages = try await queue.map(urls, with: Download().replacingErrorsWithNil()).compactMap(\.self)  // [Page]
/// let results = try await queue.map(urls, with: Download().catchingErrors())  // [Result<Page, any Error>]
/// ```
///
/// A graph does not respond to the failure of a node that has dependents if each of them either uses the node's ``Node/catchingErrors()``
/// or is itself a node whose failure the graph ignores. The same is true of a node whose `Result` is the value of the graph.
@nonexhaustive
public enum FailurePolicy: Sendable, Hashable {
  /// The first failure cancels everything that is executing, prevents anything else from starting, and becomes the overall error.
  case failFast
  /// Everything that does not depend on a failed node still executes. The overall error is then ``ProcedureError/Kind/childrenFailed``,
  /// which contains all failures.
  case collect
}

/// The failure of a graph node, an element of a `map`, a child, or a body that has children.
public struct ProcedureFailure: Sendable {
  /// The run that failed.
  public let procedure: ProcedureIdentity
  /// The error that caused the run to fail.
  public let error: any Error

  /// Creates a failure from a run and its error.
  ///
  /// - Parameters:
  ///   - procedure: The run that failed.
  ///   - error: The error that caused the run to fail.
  public init(procedure: ProcedureIdentity, error: any Error) {
    self.procedure = procedure
    self.error = error
  }
}
