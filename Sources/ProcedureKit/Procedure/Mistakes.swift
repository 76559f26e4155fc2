/// Overloads that exist only to explain common mistakes. If no other overload matches a call, the compiler selects one of these and reports
/// its message.
extension ProcedureQueue {
  /// Unavailable: the procedure has an input.
  @available(*, unavailable, message: "the procedure has an input: pass it with input:")
  @_disfavoredOverload
  public nonisolated func run<P: Procedure>(_ procedure: P) async throws -> P.Output { fatalError() }

  /// Unavailable: the procedure has an input.
  @available(
    *, unavailable,
    message: "the procedure has an input: pass it with input:, or use from: to pass the handle that provides it"
  )
  @_disfavoredOverload
  @discardableResult
  public nonisolated func add<P: Procedure>(
    _ procedure: P, after dependencies: [any ProcedureDependency] = []
  ) -> ProcedureHandle<P.Output> { fatalError() }

  /// Unavailable: the procedure has an input.
  @available(
    *, unavailable,
    message: "the procedure has an input: pass it with input:, or use from: to pass the handle that provides it"
  )
  @_disfavoredOverload
  @discardableResult
  public nonisolated func add<P: Procedure>(
    _ procedure: P, after dependency: any ProcedureDependency
  ) -> ProcedureHandle<P.Output> { fatalError() }
}

extension GraphBuilder {
  /// Unavailable: the procedure has an input.
  @available(
    *, unavailable,
    message: "the procedure has an input: pass it with input:, or use from: to pass the node that provides it"
  )
  @_disfavoredOverload
  @discardableResult
  public func add<P: Procedure>(
    _ procedure: P, after dependencies: [any GraphDependency] = []
  ) -> Node<P.Output> { fatalError() }

  /// Unavailable: the procedure has an input.
  @available(
    *, unavailable,
    message: "the procedure has an input: pass it with input:, or use from: to pass the node that provides it"
  )
  @_disfavoredOverload
  @discardableResult
  public func add<P: Procedure>(_ procedure: P, after dependency: any GraphDependency) -> Node<P.Output> {
    fatalError()
  }
}

extension Procedure {
  /// Unavailable: a procedure without an input conforms to ``InputlessProcedure``.
  @available(
    *, unavailable,
    message: "a Procedure must implement execute(_:). To implement execute() instead, conform to InputlessProcedure"
  )
  @_disfavoredOverload
  @concurrent public func execute(_ input: Never) async throws -> Never {}
}

extension Procedure {
  /// Unavailable: the key of a procedure is a value.
  @available(
    *, unavailable,
    message:
      "the key is a value: set it when you add or run the procedure, as in queue.add(task.keyed(by: page.host), input: page)"
  )
  @_disfavoredOverload
  public func keyed<Key>(by key: (Input) -> Key, weight: Int = 1) -> ProcedureTask<Input, Output> { fatalError() }

  /// Unavailable: a resource is a value.
  @available(
    *, unavailable,
    message:
      "a resource is a value: to choose it by the input, use configured { input, procedure in procedure.exclusive(input.host) }"
  )
  @_disfavoredOverload
  public func exclusive<Category>(_ category: (Input) -> Category) -> ProcedureTask<Input, Output> { fatalError() }

  /// Unavailable: a resource is a value.
  @available(
    *, unavailable,
    message:
      "a resource is a value: to choose it by the input, use configured { input, procedure in procedure.shared(input.host) }"
  )
  @_disfavoredOverload
  public func shared<Category>(_ category: (Input) -> Category) -> ProcedureTask<Input, Output> { fatalError() }
}

/// Overloads that are selected for a key path of the input, which would otherwise be accepted as a constant: the same one for all inputs.
///
/// They are deprecated, because the compiler would pass over unavailable overloads, and declare that they throw, so that a call without
/// `try` is an error. The last parameter gives them a name of their own in links. A caller who means the key path itself writes
/// `\Page.host as AnyKeyPath & Sendable`.
extension Procedure {
  /// Deprecated: a key path is the same key for all inputs.
  @available(
    *, deprecated,
    message:
      "a key path is one key for all inputs: set the key when you add or run the procedure, as in queue.add(task.keyed(by: page.host), input: page)"
  )
  public func keyed(
    by key: any PartialKeyPath<Input> & Sendable, weight: Int = 1, mistake: Void = ()
  ) throws -> ProcedureTask<Input, Output> {
    let constant: some Hashable & Sendable = key
    return keyed(by: constant, weight: weight)
  }

  /// Deprecated: a key path is the same category for all inputs.
  @available(
    *, deprecated,
    message:
      "a key path is one category for all inputs: to choose it by the input, use configured { input, procedure in procedure.exclusive(input.host) }"
  )
  public func exclusive(
    _ category: any PartialKeyPath<Input> & Sendable, _ others: (any PartialKeyPath<Input> & Sendable)...,
    mistake: Void = ()
  ) throws -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: false))
  }

  /// Deprecated: a key path is the same category for all inputs.
  @available(
    *, deprecated,
    message:
      "a key path is one category for all inputs: to choose it by the input, use configured { input, procedure in procedure.shared(input.host) }"
  )
  public func shared(
    _ category: any PartialKeyPath<Input> & Sendable, _ others: (any PartialKeyPath<Input> & Sendable)...,
    mistake: Void = ()
  ) throws -> ProcedureTask<Input, Output> {
    claiming(ResourceRequest(categories: [category] + others, isShared: true))
  }

  /// Deprecated: a key path whose value cannot be a key is the same key for all inputs.
  @available(
    *, deprecated,
    message:
      "a key path is one key for all inputs unless its value is Hashable and Sendable: use coalesced { input in … } to compute the key"
  )
  @_disfavoredOverload
  public func coalesced(
    by key: any PartialKeyPath<Input> & Sendable, in scope: CoalescingScope? = nil, mistake: Void = ()
  ) throws -> ProcedureTask<Input, Output> {
    let constant: some Hashable & Sendable = key
    return coalesced(by: constant, in: scope)
  }
}

extension InputlessProcedure {
  /// Unavailable: a procedure with an input conforms to ``Procedure``.
  @available(
    *, unavailable,
    message: "an InputlessProcedure must implement execute(). To implement execute(_:) instead, conform to Procedure"
  )
  @_disfavoredOverload
  @concurrent public func execute() async throws -> Never { fatalError() }
}
