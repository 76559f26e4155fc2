/// Work that can be run: an async function with a name, and the ways to run it.
///
/// A procedure is a value. It describes work, and running it never changes it: the same procedure can run again, at the
/// same time, on several queues and in several graphs.
///
/// ```swift
/// struct ResizeImage: Procedure {
///   var size: Size
///   func execute(_ image: Image) async throws -> Image { … }
/// }
/// ```
///
/// For a procedure without a type of its own there is ``ProcedureTask``. Modifiers such as ``condition(_:)`` wrap what is
/// written before them and return a ``ProcedureTask`` again.
public protocol Procedure<Input, Output>: Sendable {
  /// What the procedure is given; `Void` for nothing.
  associatedtype Input: Sendable
  /// What it returns.
  associatedtype Output: Sendable

  /// What errors, events and diagrams call it. Default: the name of its type.
  var name: String { get }

  /// Does the work, once.
  ///
  /// Cancellation is cooperative: an added run's task is cancelled with it; a body in the task of a caller, which is cancelled
  /// by its owner only, can tell by ``ProcedureContext/isCancelled``. What is returned or thrown then is not used.
  /// A queue calls this on its own executor or on the global one, never on the caller's actor.
  ///
  /// - Parameter input: What the procedure is given.
  /// - Returns: The result.
  /// - Throws: Whatever is to be the run's error.
  @concurrent func execute(_ input: Input) async throws -> Output

  /// The procedure as an async function and the ways to run it. Default: ``execute(_:)`` and nothing else.
  ///
  /// A type can bring its own modifiers along by implementing this:
  /// `var procedureTask: ProcedureTask<Image, Image> { ProcedureTask(executing: self).condition(isOnline) }`.
  var procedureTask: ProcedureTask<Input, Output> { get }
}

extension Procedure {
  /// The name of the type.
  public var name: String {
    String(describing: Self.self)
  }

  /// ``execute(_:)`` and nothing else.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(executing: self)
  }
}

extension Procedure {
  /// Runs the procedure without a queue, with all its modifiers: in the caller's task, or, within a body, as a part of this body.
  ///
  /// ```swift
  /// let image = try await LoadImage().retry(.immediate)("kitten.ppm")
  /// ```
  ///
  /// The run has an id, events and hooks like one of a queue that has no limit. Cancelling the caller cancels the run.
  ///
  /// - Parameter input: The input of the procedure.
  /// - Returns: The result.
  /// - Throws: The error of the body; `CancellationError`, or the reason of the cancel; ``ProcedureError`` for what the library decided.
  @concurrent public func callAsFunction(_ input: Input) async throws -> Output {
    try await RunDriver.run(procedureTask, input)
  }
}

extension Procedure where Input == Void {
  /// Runs a procedure without an input; see ``Procedure/callAsFunction(_:)``. Cancelling the caller cancels the run.
  ///
  /// - Returns: The result.
  /// - Throws: The errors of ``Procedure/callAsFunction(_:)``.
  @concurrent public func callAsFunction() async throws -> Output {
    try await callAsFunction(())
  }

  /// Does the work of a procedure that is given nothing, without a queue. Cancelling the caller cancels it.
  ///
  /// - Returns: The result.
  /// - Throws: What the procedure throws.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }
}
