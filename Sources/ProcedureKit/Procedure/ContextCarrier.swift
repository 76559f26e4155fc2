/// Takes a task-local value from where a procedure is added to where its body executes.
///
/// `run` executes in the caller's task and needs none of this. `add` executes elsewhere, where the caller's task-local
/// values do not reach; a queue's carriers capture them at the call. A tracing or logging library's context, say:
///
/// ```swift
/// enum Tracing { @TaskLocal static var request: String? }
/// var configuration = ProcedureQueue.Configuration("api")
/// configuration.contextCarriers = [ContextCarrier(Tracing.$request)]
/// let queue = ProcedureQueue(configuration)
/// ```
public struct ContextCarrier: Sendable {
  /// Calls an operation with a captured value bound.
  typealias Binding = @Sendable (_ operation: @Sendable () async -> Void) async -> Void

  let capture: @Sendable () -> Binding

  /// Carries the value of one task local.
  ///
  /// - Parameter local: The task local, as its projected value: `Tracing.$request`.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    capture = {
      let value = local.get()
      return { operation in await local.withValue(value) { await operation() } }
    }
  }
}
