/// A carrier that captures a task-local value when a procedure is added, and binds it while the procedure's body executes.
///
/// `run` executes in the caller's task and does not need carriers. A procedure passed to `add` executes in a different task, which does not
/// inherit the caller's task-local values. Examples of such values are the contexts of tracing and logging libraries. A queue's carriers
/// capture these values when `add` is called.
///
/// ```swift
/// enum Tracing { @TaskLocal static var request: String? }
/// var configuration = ProcedureQueue.Configuration("api")
/// configuration.contextCarriers = [ContextCarrier(Tracing.$request)]
/// let queue = ProcedureQueue(configuration)
/// ```
public struct ContextCarrier: Sendable {
  /// A function that calls an operation while a captured value is bound.
  typealias Binding = @Sendable (_ operation: @Sendable () async -> Void) async -> Void

  /// A function that captures the current value, and returns a function that binds it (Q5).
  let capture: @Sendable () -> Binding

  /// Creates a carrier for the value of one task-local variable.
  ///
  /// - Parameter local: The projected value of the task-local variable, for example `Tracing.$request`.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    capture = {
      let value = local.get()
      return { operation in await local.withValue(value) { await operation() } }
    }
  }
}
