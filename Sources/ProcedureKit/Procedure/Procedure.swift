/// A unit of work that can be run: an async function with a name.
///
/// A procedure is a value that describes work. A run never changes the procedure, so a procedure can run repeatedly and concurrently, on
/// several queues and in several graphs.
///
/// ```swift
/// struct ResizeImage: Procedure {
///   var size: Size
///   func execute(_ image: Image) async throws -> Image { … }
/// }
/// ```
///
/// A procedure without an input is an ``InputlessProcedure``. ``ProcedureTask`` creates a procedure from a closure. A modifier, such as
/// ``condition(_:)``, wraps the procedure that it is applied to and returns a ``ProcedureTask``.
public protocol Procedure<Input, Output>: Sendable {
  /// The type of the input; `Void` for a procedure without an input.
  associatedtype Input: Sendable
  /// The type of the value that a run returns.
  associatedtype Output: Sendable

  /// The name of the procedure in errors, events and diagrams. The default is the name of the type.
  var name: String { get }

  /// Performs the work once.
  ///
  /// Cancellation is cooperative. Cancelling a run that was added to a queue cancels the run's task. A body that
  /// ``ProcedureQueue/run(_:input:)`` executes must also check ``ProcedureContext/isCancelled``, because a queue cannot cancel the caller's
  /// task. The value or the error of a cancelled body is discarded. A queue calls this function on the queue's executor or on the global
  /// executor, never on the caller's actor.
  ///
  /// - Parameter input: The input of the procedure.
  /// - Returns: The value of the run.
  /// - Throws: An error if the work fails; the run then fails with this error.
  @concurrent func execute(_ input: Input) async throws -> Output

  /// The procedure as a ``ProcedureTask`` with its modifiers. The default is a task that executes ``execute(_:)`` without modifiers.
  ///
  /// A type that implements this property can include modifiers:
  /// `var procedureTask: ProcedureTask<Image, Image> { ProcedureTask(executing: self).condition(isOnline) }`.
  var procedureTask: ProcedureTask<Input, Output> { get }
}

extension Procedure {
  /// The name of the type.
  public var name: String {
    String(describing: Self.self)
  }

  /// A task that executes ``execute(_:)`` without modifiers.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(executing: self)
  }

  /// Runs the procedure without a queue, but with all its modifiers.
  ///
  /// The procedure runs in the caller's task, or, if it is called within a body, as part of that body.
  ///
  /// ```swift
  /// let image = try await LoadImage().retry(.constant(.seconds(1)), maxAttempts: 3)("kitten.ppm")
  /// ```
  ///
  /// Outside of any body, the run has its own ID and events, like a run on a queue without limits. Within a body, it uses the ID of the run
  /// that the body belongs to. Cancelling the caller cancels the run. A cancelled body can still call procedures to clean up, unless it was
  /// stopped because a child failed. The earlier cancellation does not affect these procedures: in them, ``ProcedureContext/isCancelled``
  /// is `false`, even if `Task.isCancelled` is `true`.
  ///
  /// - Parameter input: The input of the procedure.
  /// - Returns: The value that the body returns.
  /// - Throws: The error that the body threw, or a ``ProcedureError`` from the library. If the run is cancelled, the error is the reason
  ///   for the cancellation, or `CancellationError` if there is no reason.
  @concurrent public func callAsFunction(_ input: Input) async throws -> Output {
    try await RunDriver.run(procedureTask, input)
  }
}

extension Procedure where Input == Void {
  /// Runs a procedure without an input; see ``Procedure/callAsFunction(_:)``. Cancelling the caller cancels the run.
  ///
  /// - Returns: The value that the body returns.
  /// - Throws: The same errors as ``Procedure/callAsFunction(_:)``.
  @concurrent public func callAsFunction() async throws -> Output {
    try await callAsFunction(())
  }
}

/// A procedure without an input.
///
/// ```swift
/// struct CleanUp: InputlessProcedure {
///   func execute() async throws { … }
/// }
/// ```
public protocol InputlessProcedure<Output>: Procedure where Input == Void {
  // Both types are repeated here because the compiler (Swift 6.3) would otherwise infer them only in the file that declares the conforming
  // type.
  /// The type of the input, which is always `Void`.
  associatedtype Input = Void
  /// The type of the value that ``execute()`` returns.
  associatedtype Output

  /// Performs the work once; see ``Procedure/execute(_:)``.
  ///
  /// - Returns: The value of the run.
  /// - Throws: An error if the work fails; the run then fails with this error.
  @concurrent func execute() async throws -> Output
}

extension InputlessProcedure {
  /// Calls ``execute()`` and rethrows its error.
  @concurrent public func execute(_ input: Void) async throws -> Output {
    try await execute()
  }
}

extension ProcedureTask: InputlessProcedure where Input == Void {
  /// Runs the task without a queue; see ``execute(_:)``.
  ///
  /// - Throws: The same errors as ``execute(_:)``.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }
}
