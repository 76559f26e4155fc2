/// Overloads that take functions instead of procedures: `queue.add("index") { … }` is short for `queue.add(ProcedureTask("index") { … })`.
extension ProcedureQueue {
  /// Runs a function in the caller's task; see ``run(_:input:)``.
  ///
  /// ```swift
  /// let page = try await queue.run("page") { try await fetch(url) }
  /// ```
  ///
  /// Cancelling the caller cancels the run.
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and snapshots.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: The value of the function.
  /// - Throws: The same errors as ``run(_:input:)``.
  @inlinable
  public nonisolated(nonsending) final func run<Output: Sendable>(
    _ name: String = "ProcedureTask", operation: @escaping @concurrent @Sendable () async throws -> Output
  ) async throws -> Output {
    try await run(ProcedureTask(name, operation: operation))
  }

  /// Adds a function that executes independently of the caller; see ``add(_:input:after:)-(_,_,[ProcedureDependency])``.
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and snapshots.
  ///   - dependencies: Procedures that must finish successfully before the function is called.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A handle to the run.
  @discardableResult
  @inlinable
  public nonisolated final func add<Output: Sendable>(
    _ name: String = "ProcedureTask", after dependencies: [any ProcedureDependency] = [],
    operation: @escaping @concurrent @Sendable () async throws -> Output
  ) -> ProcedureHandle<Output> {
    add(ProcedureTask(name, operation: operation), after: dependencies)
  }

  /// Adds a function that is called after another procedure finishes.
  ///
  /// See ``add(_:after:operation:)-(_,[ProcedureDependency],_)``.
  @discardableResult
  @inlinable
  public nonisolated final func add<Output: Sendable>(
    _ name: String = "ProcedureTask", after dependency: any ProcedureDependency,
    operation: @escaping @concurrent @Sendable () async throws -> Output
  ) -> ProcedureHandle<Output> {
    add(ProcedureTask(name, operation: operation), after: [dependency])
  }

  /// Adds a function that takes the values of other procedures; see ``add(_:from:_:after:)-(_,_,_,[ProcedureDependency])``.
  ///
  /// ```swift
  /// let total = queue.add("total", from: price, tax) { price, tax in price + tax }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in events, errors and snapshots.
  ///   - handles: The procedures that provide the arguments.
  ///   - dependencies: Additional procedures that must finish successfully before the function is called.
  ///   - operation: The function, which never executes on the caller's actor.
  /// - Returns: A handle to the run.
  @discardableResult
  public nonisolated func add<each Value: Sendable, Output: Sendable>(
    _ name: String = "ProcedureTask", from handles: repeat ProcedureHandle<each Value>,
    after dependencies: [any ProcedureDependency] = [],
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> ProcedureHandle<Output> {
    let task = ProcedureTask<(repeat each Value), Output>(name) { values in try await operation(repeat each values) }
    return submit(task, from: repeat each handles, after: dependencies)
  }

  /// Adds a function that takes the values of other procedures, and has one additional dependency.
  ///
  /// See ``add(_:from:after:operation:)-(_,ProcedureHandle<Value>,[ProcedureDependency],_)``.
  @discardableResult
  public nonisolated func add<each Value: Sendable, Output: Sendable>(
    _ name: String = "ProcedureTask", from handles: repeat ProcedureHandle<each Value>,
    after dependency: any ProcedureDependency,
    operation: @escaping @concurrent @Sendable (repeat each Value) async throws -> Output
  ) -> ProcedureHandle<Output> {
    add(name, from: repeat each handles, after: [dependency], operation: operation)
  }

  /// Adds a function that takes an array of the values of other procedures. The values are in the order of `handles`, which can be empty.
  ///
  /// See ``add(_:from:after:operation:)-(_,ProcedureHandle<Value>,[ProcedureDependency],_)``.
  @discardableResult
  public nonisolated func add<Value: Sendable, Output: Sendable>(
    _ name: String = "ProcedureTask", from handles: [ProcedureHandle<Value>],
    after dependencies: [any ProcedureDependency] = [],
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> ProcedureHandle<Output> {
    add(ProcedureTask(name, operation: operation), from: handles, after: dependencies)
  }

  /// Adds a function that takes an array of the values of other procedures, and has one additional dependency.
  ///
  /// See ``add(_:from:after:operation:)-(_,[ProcedureHandle<Value>],[ProcedureDependency],_)``.
  @discardableResult
  public nonisolated func add<Value: Sendable, Output: Sendable>(
    _ name: String = "ProcedureTask", from handles: [ProcedureHandle<Value>], after dependency: any ProcedureDependency,
    operation: @escaping @concurrent @Sendable ([Value]) async throws -> Output
  ) -> ProcedureHandle<Output> {
    add(ProcedureTask(name, operation: operation), from: handles, after: [dependency])
  }
}

/// Methods that call a closure for each element of a sequence.
extension ProcedureQueue {
  /// Calls a function for each element of a sequence; see ``map(_:with:maxConcurrentElements:onFailure:elementName:)``.
  ///
  /// ```swift
  /// let pages = try await queue.map(urls, maxConcurrentElements: 4) { url in try await fetch(url) }
  /// ```
  ///
  /// Cancelling the caller cancels the runs of all elements. Without a name, the run is called `map`, and its elements `map[0]`, `map[1]`
  /// and so on.
  @inlinable
  public nonisolated(nonsending) final func map<Element: Sendable, Output: Sendable>(
    _ elements: some Sequence<Element> & Sendable, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) async throws -> [Output] {
    try await map(
      "map", elements, maxConcurrentElements: limit, onFailure: policy, elementName: elementName, operation: operation)
  }

  /// Calls a function for each element of a sequence, in a named run.
  ///
  /// Cancelling the caller cancels the runs of all elements. See ``map(_:with:maxConcurrentElements:onFailure:elementName:)``.
  @inlinable
  public nonisolated(nonsending) final func map<Element: Sendable, Output: Sendable>(
    _ name: String, _ elements: some Sequence<Element> & Sendable, maxConcurrentElements limit: Int = .max,
    onFailure policy: FailurePolicy = .failFast, elementName: (@Sendable (Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Element) async throws -> Output
  ) async throws -> [Output] {
    try await map(
      elements, with: ProcedureTask(name, operation: operation), maxConcurrentElements: limit, onFailure: policy,
      elementName: elementName)
  }

  /// Calls a function for each element of a sequence while the caller iterates over the results.
  ///
  /// ```swift
  /// let rows = queue.results(over: lines, maxConcurrentElements: 8) { line in try parse(line) }
  /// for try await row in rows { … }
  /// ```
  ///
  /// See ``results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx``.
  public nonisolated func results<Inputs: Sequence & Sendable, Output: Sendable>(
    _ name: String = "results", over inputs: Inputs, maxConcurrentElements limit: Int? = nil,
    ordered isOrdered: Bool = true, elementName: (@Sendable (Inputs.Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Inputs.Element) async throws -> Output
  ) -> some AsyncSequence<Output, any Error> & Sendable where Inputs.Element: Sendable {
    results(
      of: ProcedureTask(name, operation: operation), over: inputs, maxConcurrentElements: limit, ordered: isOrdered,
      elementName: elementName)
  }

  /// Calls a function for each element of an asynchronous sequence while the caller iterates over the results.
  ///
  /// See ``results(of:over:maxConcurrentElements:ordered:elementName:)-4dpvx``.
  public nonisolated func results<Inputs: AsyncSequence & Sendable, Output: Sendable>(
    _ name: String = "results", over inputs: Inputs, maxConcurrentElements limit: Int? = nil,
    ordered isOrdered: Bool = true, elementName: (@Sendable (Inputs.Element) -> String)? = nil,
    operation: @escaping @concurrent @Sendable (Inputs.Element) async throws -> Output
  ) -> some AsyncSequence<Output, any Error> & Sendable where Inputs.Element: Sendable {
    results(
      of: ProcedureTask(name, operation: operation), over: inputs, maxConcurrentElements: limit, ordered: isOrdered,
      elementName: elementName)
  }
}
