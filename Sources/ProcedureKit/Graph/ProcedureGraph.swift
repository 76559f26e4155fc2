/// A procedure that executes other procedures in the order of their dependencies and passes values between them.
///
/// ```swift
/// let thumbnails = ProcedureGraph("thumbnails") { (g, path: Node<String>) in
///   let photo = g.add(LoadImage(), from: path)
///   let small = g.add(ResizeImage(size: .small), from: photo)
///   let large = g.add(ResizeImage(size: .large), from: photo)
///   return g.add("pack", from: small, large) { small, large in [small, large] }
/// }
/// let images = try await queue.run(thumbnails, input: "kitten.ppm")
/// ```
///
/// A graph is built once and can run many times, even concurrently. A node executes as soon as its dependencies have finished. Independent
/// nodes execute concurrently, up to the width of the queue. If more nodes are ready than can execute, the nodes with the longest paths to
/// the end of the graph start first; see ``expected(durations:)``. The graph finishes when all nodes have finished. A value is released
/// when its last consumer takes it.
///
/// When a graph is cancelled, it cancels the executing nodes, starts no further nodes, and waits for the executing nodes to end. A node can
/// execute in the task that called ``ProcedureQueue/run(_:input:)``. If the queue cancels the graph, that task itself is not cancelled, so
/// the node must check ``ProcedureContext/isCancelled`` instead of `Task.isCancelled`.
public struct ProcedureGraph<Input: Sendable, Output: Sendable>: Procedure {
  /// The name of the graph in errors, events and diagrams.
  public let name: String
  package internal(set) var plan: GraphPlan
  private let takeOutput: @Sendable (GraphValues) -> Output
  /// The slots of the values from which the graph's value is created; empty for a graph without a value.
  private let outputSlots: [Int32]
  private var policy: FailurePolicy?
  private(set) var width = Int.max

  /// Creates a graph with an input and a value.
  ///
  /// - Parameters:
  ///   - name: The name of the graph in errors, events and diagrams.
  ///   - build: A closure that adds the nodes and returns the node whose value is the value of the graph. The closure can also return the
  ///     input node itself, even if it adds no nodes.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder, Node<Input>) -> Node<Output>) {
    let builder = GraphBuilder(graphName: name)
    let output = build(builder, builder.addInput(of: Input.self))
    self.init(builder, outputs: [output.reference], takeOutput: output.source.take)
  }

  /// Creates a graph that has a value but no input.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder) -> Node<Output>) where Input == Void {
    self.init(name) { builder, _ in build(builder) }
  }

  /// Creates a graph that has an input but no value. A graph without nodes does nothing.
  ///
  /// ```swift
  /// let tidy = ProcedureGraph("tidy", returning: Void.self) { g, folder in
  ///   g.add(RemoveCaches(), from: folder)
  ///   g.add(RotateLogs(), from: folder)
  /// }
  /// ```
  ///
  /// You must pass the type explicitly. Otherwise, a closure that lacks a `return` would create a graph without a value instead of causing
  /// a compiler error.
  public init(
    _ name: String = "ProcedureGraph", returning type: Void.Type, _ build: (GraphBuilder, Node<Input>) -> Void
  ) where Output == Void {
    let builder = GraphBuilder(graphName: name)
    build(builder, builder.addInput(of: Input.self))
    self.init(builder, outputs: []) { _ in }
  }

  /// Creates a graph that has neither an input nor a value; see ``init(_:returning:_:)-(_,_,(GraphBuilder,Node<Input>)->Void)``.
  public init(
    _ name: String = "ProcedureGraph", returning type: Void.Type, _ build: (GraphBuilder) -> Void
  ) where Input == Void, Output == Void {
    self.init(name, returning: type) { (builder, _: Node<Void>) -> Void in build(builder) }
  }

  /// Unavailable, because the closure does not return a node.
  @available(
    *, unavailable,
    message: "return the node that has the graph's value, or pass returning: Void.self if the graph has no value"
  )
  @_disfavoredOverload  // A single-line closure can also match the overload with a value.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder, Node<Input>) -> Void) where Output == Void {
    fatalError()
  }

  /// Unavailable, because the closure does not return a node.
  @available(
    *, unavailable,
    message: "return the node that has the graph's value, or pass returning: Void.self if the graph has no value"
  )
  @_disfavoredOverload  // A single-line closure can also match the overload with a value.
  public init(
    _ name: String = "ProcedureGraph", _ build: (GraphBuilder) -> Void
  ) where Input == Void, Output == Void {
    fatalError()
  }

  /// Creates a graph whose value is computed directly from the values of several nodes, without an additional node that gathers them.
  ///
  /// - Parameters:
  ///   - name: The name of the graph in errors, events and diagrams.
  ///   - collection: The name of the `map` node whose elements are the nodes of this graph, if any.
  ///   - combine: A function that returns the value of the graph, given the values of the nodes.
  ///   - build: A closure that adds the nodes and returns the nodes whose values are combined.
  @inlinable
  init<Value>(
    _ name: String, elementsOf collection: String? = nil, combining combine: @escaping @Sendable ([Value]) -> Output,
    _ build: (GraphBuilder) -> [Node<Value>]
  ) where Input == Void {
    let builder = GraphBuilder(graphName: name)
    _ = builder.addInput(of: Input.self)
    let nodes = build(builder)
    let sources = nodes.map { $0.source }
    self.init(builder, outputs: nodes.map { $0.reference }, elementsOf: collection) { values in
      combine(sources.map { $0.take(values) })
    }
  }

  @usableFromInline
  init(
    _ builder: GraphBuilder, outputs: [NodeReference], elementsOf collection: String? = nil,
    takeOutput: @escaping @Sendable (GraphValues) -> Output
  ) {
    name = builder.graphName
    self.takeOutput = takeOutput
    outputSlots = outputs.map(\.slot)
    plan = builder.finish(outputs: outputs, elementsOf: collection)
  }

  /// The number of nodes.
  public var nodeCount: Int { plan.bodies.count }

  /// Returns a copy of the graph that responds to the failure of a node according to `policy`. The default is ``FailurePolicy/failFast``.
  public func onFailure(_ policy: FailurePolicy) -> ProcedureGraph {
    var graph = self
    graph.policy = policy
    return graph
  }

  /// Returns a copy of the graph in which at most `count` nodes execute concurrently. The width of the queue still applies.
  ///
  /// - Parameter count: The maximum number of concurrent nodes. Passing a value below 1 traps.
  /// - Returns: The graph with the limit.
  public func maxConcurrentNodes(_ count: Int) -> ProcedureGraph {
    requirePositive(count, "ProcedureGraph \"\(name)\": maxConcurrentNodes")
    var graph = self
    graph.width = count
    return graph
  }

  /// Runs the graph without a queue, or, within a body, as part of that body.
  ///
  /// If the caller is cancelled, the graph is cancelled, and the function returns once all executing nodes have ended.
  ///
  /// - Parameter input: The input of the graph.
  /// - Returns: The value of the output node.
  /// - Throws: The first failure, or, with ``FailurePolicy/collect``, ``ProcedureError/Kind/childrenFailed`` with all failures. The graph
  ///   does not fail if all consumers of a failed node use its ``Node/catchingErrors()``.
  /// - Complexity: O(n + e) for n nodes and e edges. If priorities differ, or if more nodes can be ready than can execute, each node takes
  ///   an additional O(log n).
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await procedureTask.execute(input)
  }

  /// The graph as a task, including the limit from ``maxConcurrentNodes(_:)`` and the policy from ``onFailure(_:)``.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(name) { input in try await execute(input, in: .requireCurrent(for: name)) }
  }

  package func execute(_ value: Input, by plan: GraphPlan? = nil, in context: ProcedureContext) async throws -> Output {
    let policy = policy ?? context.run.failurePolicy
    let run = GraphRun(plan ?? self.plan, in: context.run, limit: width, stopsAtFirstFailure: policy != .collect)
    run.values.put(value, into: ValueSlot<Input>(index: 0, offset: 0))
    try await run.execute()
    if !isAcceptedOutput { for slot in outputSlots { if let error = run.values.error(of: slot) { throw error } } }
    return takeOutput(run.values)
  }

  /// The nodes whose values form the value of the graph, where -1 represents the graph's input; empty for a graph without a value.
  package var outputNodes: [Int32] { outputSlots.map { $0 - 1 } }

  /// Whether the output is the `Result` of a node. If so, the graph has an output even if the node failed.
  var isAcceptedOutput: Bool {
    plan.shape.acceptedOutput >= 0
  }
}

extension ProcedureGraph: InputlessProcedure where Input == Void {
  /// Runs a graph that has no input; see ``execute(_:)``.
  ///
  /// - Throws: The same errors as ``execute(_:)``.
  @concurrent public func execute() async throws -> Output {
    try await execute(())
  }
}

extension ProcedureTask {
  /// Unavailable, because only a graph can limit its concurrent nodes.
  @available(
    *, unavailable, message: "the limit belongs to the graph: call maxConcurrentNodes(_:) before applying modifiers"
  )
  public func maxConcurrentNodes(_ count: Int) -> ProcedureTask { self }
}
