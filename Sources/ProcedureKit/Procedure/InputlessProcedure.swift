/// A procedure without an input.
///
/// ```swift
/// struct CleanUp: InputlessProcedure {
///   var folder: String
///   func execute() async throws { … }
/// }
/// try await queue.run(CleanUp(folder: "tmp"))
/// ```
public protocol InputlessProcedure<Output>: Procedure where Input == Void {
  // Both types are stated again: otherwise the compiler (Swift 6.3) infers them only in the file of the conforming type.
  /// No input.
  associatedtype Input = Void
  /// The type of the value of ``execute()``.
  associatedtype Output

  /// Does the work, once; see ``Procedure/execute(_:)``.
  ///
  /// - Returns: The value of the run.
  /// - Throws: The error of the run.
  @concurrent func execute() async throws -> Output
}

extension InputlessProcedure {
  /// Does the work, once; see ``execute()``.
  ///
  /// - Parameter input: Nothing.
  /// - Returns: The value of the run.
  /// - Throws: The error of the run.
  @concurrent public func execute(_ input: Void) async throws -> Output {
    try await execute()
  }
}

extension ProcedureTask: InputlessProcedure where Input == Void {
  /// Runs the task without a queue; see ``execute(_:)``.
  ///
  /// - Returns: The value of the task.
  /// - Throws: The errors of ``execute(_:)``.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }
}
