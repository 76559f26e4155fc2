/// An async function with a name and modifiers. It describes work and is not a running task.
///
/// Unlike creating a `Task`, creating a `ProcedureTask` starts nothing. Running a procedure task does not change it, so it can run
/// repeatedly and concurrently, on several queues and in several graphs. Every modifier returns a new task that wraps the previous one.
public struct ProcedureTask<Input: Sendable, Output: Sendable>: Procedure {
  @usableFromInline let layer: ModifierLayer
  @usableFromInline let closures: ModifierLayer.Closures?
  /// The function that does the work. It is `@concurrent`, so it never executes on the caller's actor (Q6).
  @usableFromInline let operation: @concurrent @Sendable (Input) async throws -> Output
  /// The body of a task without an input. It is created once, so adding the task allocates no closure.
  @usableFromInline let body: Run.Body?
  /// A function that creates the task for an input; `nil` if the modifiers do not depend on the input.
  @usableFromInline let configure: (@Sendable (Input) -> ProcedureTask)?

  /// Creates a procedure from an async function with one input.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure in events, errors and snapshots.
  ///   - priority: The priority in the ready queue; `nil` to use the priority of the calling task.
  ///   - operation: The body, which executes on the executor of the queue, or on the global executor.
  @inlinable
  public init(
    _ name: String = "ProcedureTask", priority: TaskPriority? = nil,
    operation: @escaping @concurrent @Sendable (Input) async throws -> Output
  ) {
    self.init(ModifierLayer(named: name, priority), operation, body: nil)
  }

  /// Creates a procedure from an async function without an input. The parameters have the same meaning as for a function with an input.
  @inlinable
  public init(
    _ name: String = "ProcedureTask", priority: TaskPriority? = nil,
    operation: @escaping @concurrent @Sendable () async throws -> Output
  ) where Input == Void {
    self.init(
      ModifierLayer(named: name, priority), { _ in try await operation() }, body: { _, _ in try await operation() })
  }

  /// Creates a task that has only a body. `body` is created where its types are known, so calling the body requires no conversion.
  @usableFromInline
  init(
    _ layer: ModifierLayer, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output, body: Run.Body?
  ) {
    (self.layer, closures, self.operation, self.body, configure) = (layer, nil, operation, body, nil)
  }

  /// Creates a task that executes a procedure's body under the procedure's name.
  public init<P: Procedure>(executing procedure: P) where P.Input == Input, P.Output == Output {
    self.init(procedure.name) { try await procedure.execute($0) }
  }

  package init(
    _ traits: ModifierLayer.Traits, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output
  ) {
    layer = ModifierLayer(traits)
    closures = ModifierLayer.Closures(traits)
    self.operation = operation
    body = Input.self == Void.self ? Self.body(closures, operation, () as! Input) : nil
    configure = nil
  }

  /// Creates a task whose modifiers depend on the input. The new task has the name, the priority and the key of another task.
  init(configuring task: ProcedureTask, _ configure: @escaping @Sendable (Input) -> ProcedureTask) {
    layer = task.wrapped { try await task.execute($0) }.layer
    closures = nil
    operation = { input in try await configure(input).executeAsLayer(input) }
    body = nil
    self.configure = configure
  }

  /// The name in events, errors and snapshots.
  public var name: String { layer.name }

  /// The priority in the ready queue, or `nil` to use the priority of the calling task.
  public var priority: TaskPriority? { layer.traits.rawPriority.map(TaskPriority.init) }

  /// The task itself.
  @inlinable
  public var procedureTask: ProcedureTask<Input, Output> { self }

  /// Runs the task without a queue: in the caller's task, or, within a body, as part of that body.
  ///
  /// Cancelling the calling task cancels the run, but this function still does not return until the body ends.
  ///
  /// - Throws: The error that the body threw, or a ``ProcedureError`` from the library. If the run is cancelled, the error is the reason
  ///   for the cancellation, or `CancellationError` if there is no reason.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await RunDriver.run(self, input)
  }

  /// Returns the type-erased body for an input.
  @inlinable
  func body(with input: Input) -> Run.Body {
    if let body { return body }
    if closures != nil { return Self.body(closures, operation, input) }
    return { [operation] _, _ in try await operation(input) }
  }

  @usableFromInline
  static func body(
    _ closures: ModifierLayer.Closures?, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output,
    _ input: Input
  ) -> Run.Body {
    let (hooks, reuse) = (closures?.hooks.willExecute ?? [], closures?.reuse)
    let repetition = closures?.repetition
    if hooks.isEmpty, reuse == nil, repetition == nil { return { _, _ in try await operation(input) } }
    return { run, stage in
      switch stage {
      case .reuse: return try await reuse?.find(input) ?? ()
      case .hooks: for hook in hooks.reversed() { try await hook(input) }
      case .execute:
        guard let repetition else { return try await operation(input) }
        return try await run.repetition { repetition(input) }.execute(in: run)
      }
      return ()
    }
  }

  /// Returns the task with `change` applied to the traits of its outermost layer.
  func changing(_ change: (inout ModifierLayer.Traits) -> Void) -> ProcedureTask {
    guard configure == nil else { return inLayer(change) }
    var traits = layer.traits
    if let closures {
      (traits.conditions, traits.hooks) = (closures.conditions, closures.hooks)
      (traits.reuse, traits.repetition) = (closures.reuse, closures.repetition)
    }
    change(&traits)
    return ProcedureTask(traits, operation)
  }

  /// Returns the task with a different name, priority or key. None of these depends on the input, so they can be changed before the input
  /// is known.
  package func relabelled(_ change: (inout ModifierLayer.Traits) -> Void) -> ProcedureTask {
    guard let configure else { return changing(change) }
    return ProcedureTask(configuring: inLayer(change), configure)
  }

  /// Returns the task with the modifiers that apply to the given input.
  @usableFromInline
  func resolved(for input: Input) -> ProcedureTask {
    guard let configure else { return self }
    let own = layer.traits
    return configure(input).resolved(for: input).changing {
      ($0.name, $0.rawPriority, $0.key, $0.weight) = (own.name, own.rawPriority, own.key, own.weight)
      ($0.collection, $0.exchange) = (own.collection, own.exchange)
    }
  }

  /// Returns a task that consists of a new layer around this task. The new task has the same name and priority as this one, but a different
  /// body.
  package func wrapped<I: Sendable, O: Sendable>(
    _ change: (inout ModifierLayer.Traits) -> Void = { _ in },
    _ operation: @escaping @concurrent @Sendable (I) async throws -> O
  ) -> ProcedureTask<I, O> {
    let own = layer.traits
    var traits = ModifierLayer.Traits(
      name: name, rawPriority: own.rawPriority, key: own.key, version: own.version, weight: own.weight,
      expectedSeconds: own.expectedSeconds, collection: own.collection)
    change(&traits)
    return ProcedureTask<I, O>(traits, operation)
  }

  /// Returns a task that consists of a new layer around this task. The body of the layer executes this task, and can do so again after a
  /// pause.
  func repeated(_ make: @escaping @Sendable (Input) -> any Repetition) -> ProcedureTask {
    inLayer { $0.repetition = { make($0 as! Input) } }
  }

  /// Returns a task that has the name, the priority and the key of this one, but a different body and no modifiers.
  @usableFromInline
  func withoutModifiers<Other: Sendable>(
    _ operation: @escaping @concurrent @Sendable (Input) async throws -> Other
  ) -> ProcedureTask<Input, Other> {
    let own = layer.traits
    return ProcedureTask<Input, Other>(
      ModifierLayer.Traits(name: own.name, rawPriority: own.rawPriority, key: own.key), operation)
  }

  /// Executes the task as part of the executing body. Cancelling the body cancels the task.
  @inlinable
  func executeWithinBody(_ input: Input) async throws -> Output {
    try await layer.hasOnlyBody ? operation(input) : executeAsLayer(input)
  }

  /// Runs the task as a layer of the executing body.
  @usableFromInline
  package func executeAsLayer(_ input: Input, attempt: Int? = nil) async throws -> Output {
    try await RunDriver.runLayer(self, input, attempt: attempt)
  }
}

extension ProcedureTask: CustomStringConvertible {
  /// The type and the name of the task.
  public var description: String { "ProcedureTask \(name.quoted)" }
}
