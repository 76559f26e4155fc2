/// How a graph, a collection, a scope, or a procedure with children responds when one of its nodes, elements, procedures or children fails.
///
/// An element whose condition is not satisfied is ignored, not failed, and is omitted from the result. To omit failed elements, too, or to
/// receive a `Result` for each element, make the procedure optional, or take its result:
///
/// ```swift
/// let pages = try await queue.map(urls, with: Download().optional()).compactMap(\.self)  // [Page]
/// let results = try await queue.map(urls, with: Download().asResult)  // [Result<Page, any Error>]
/// ```
///
/// A graph does not respond to a failure that every consumer takes as ``Node/asResult``.
public enum FailurePolicy: Sendable, Hashable {
  /// The first failure cancels everything that is executing, prevents any further starts, and becomes the error of the whole.
  case failFast
  /// Everything that does not depend on a failed node still executes. The whole then fails with ``ProcedureError/Kind/childrenFailed``, which
  /// carries all errors.
  case collect
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
