/// Procedures that depend on one another's values, as one procedure.
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
/// A graph is built once and can run many times, also at the same time. A node is executed as soon as everything that it
/// depends on has finished; nodes that do not depend on one another are executed at once, on a queue within its limit. It
/// is over when all nodes are. A value is released as soon as the last node that takes it has taken it.
///
/// Cancelling a graph cancels what executes and starts nothing more. As long as one node at a time is ready, it is executed in
/// the task that executes the graph. Where that is the task of a caller of ``ProcedureQueue/run(_:input:)``, and the queue
/// cancels the run, that task is not cancelled: the node can tell by ``ProcedureContext/isCancelled``.
public struct ProcedureGraph<Input: Sendable, Output: Sendable>: Procedure {
  /// What errors, events and diagrams call it.
  public let name: String
  let plan: GraphPlan
  private let input: Node<Input>
  private let takeOutput: @Sendable (ValueArena) -> Output
  private let outputSlot: Int32?
  private var policy = ErrorPolicy.failFast
  private var width = Int.max

  /// A graph that is given a value and produces one.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - build: Adds the nodes, at least one or this traps, and returns the one whose value is the graph's.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder, Node<Input>) -> Node<Output>) {
    let builder = GraphBuilder(graphName: name)
    let input = builder.addInput(of: Input.self)
    let output = build(builder, input)
    self.init(name, builder, input, output: output.reference, takeOutput: output.source.take)
  }

  /// A graph that is given nothing and produces a value.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - build: Adds the nodes, at least one or this traps, and returns the one whose value is the graph's.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder) -> Node<Output>) where Input == Void {
    self.init(name) { builder, _ in build(builder) }
  }

  /// A graph that is given a value and produces none.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - build: Adds the nodes, at least one or this traps.
  @_disfavoredOverload  // A closure of one line that adds a node may be read as returning it, and does the same then.
  public init(_ name: String = "ProcedureGraph", _ build: (GraphBuilder, Node<Input>) -> Void) where Output == Void {
    let builder = GraphBuilder(graphName: name)
    let input = builder.addInput(of: Input.self)
    build(builder, input)
    self.init(name, builder, input, output: nil) { _ in }
  }

  /// A graph that is given nothing and produces nothing.
  ///
  /// - Parameters:
  ///   - name: What errors, events and diagrams call it.
  ///   - build: Adds the nodes, at least one or this traps.
  @_disfavoredOverload  // A closure of one line that adds a node may be read as returning it, and does the same then.
  public init(
    _ name: String = "ProcedureGraph", _ build: (GraphBuilder) -> Void
  ) where Input == Void, Output == Void {
    self.init(name) { (builder, _: Node<Void>) -> Void in build(builder) }
  }

  private init(
    _ name: String, _ builder: GraphBuilder, _ input: Node<Input>, output: NodeReference?,
    takeOutput: @escaping @Sendable (ValueArena) -> Output
  ) {
    self.name = name
    self.input = input
    self.takeOutput = takeOutput
    outputSlot = output?.slot
    plan = builder.finish(output: output)
  }

  /// How many nodes there are.
  public var count: Int { plan.bodies.count }

  /// The same graph, with another answer to a node that fails.
  public func errorPolicy(_ policy: ErrorPolicy) -> ProcedureGraph {
    var graph = self
    graph.policy = policy
    return graph
  }

  /// The same graph, of which at most so many nodes are executed at once, whatever the queue's own limit.
  ///
  /// - Parameter limit: At least 1, or this traps.
  /// - Returns: The graph with that limit.
  public func limit(_ limit: Int) -> ProcedureGraph {
    require(limit >= 1, "ProcedureGraph \"\(name)\": its limit is \(limit); with less than 1 nothing could run")
    var graph = self
    graph.width = limit
    return graph
  }

  /// Runs the graph without a queue, or as a part of the body that calls this. Cancelling the caller cancels the graph,
  /// and this returns when everything that executes has.
  ///
  /// - Parameter input: What the graph is given.
  /// - Returns: The value of its output node.
  /// - Throws: The first failure, or ``ProcedureError/partsFailed(procedure:failures:)`` with all of them, as its
  ///   ``errorPolicy(_:)`` says. A failure that is taken as ``Node/result`` wherever it goes does not fail the graph.
  /// - Complexity: O(n + e) for n nodes and e edges; O(log n) more a node where priorities differ.
  @concurrent public func execute(_ input: Input) async throws -> Output {
    try await procedureTask.execute(input)
  }

  /// The graph as one function.
  public var procedureTask: ProcedureTask<Input, Output> {
    ProcedureTask(name) { input in try await execute(input, in: .ofBody(name)) }
  }

  private func execute(_ value: Input, in context: ProcedureContext) async throws -> Output {
    let run = GraphRun(plan, in: context.run, limit: width, stopsAtFirstFailure: policy == .failFast)
    run.arena.put(value, into: ValueSlot<Input>(index: 0, offset: 0))
    try await run.execute()
    if let outputSlot, let error = run.arena.error(of: outputSlot), !isAcceptedOutput { throw error }
    return takeOutput(run.arena)
  }

  /// The node whose value is the graph's, -1 for the graph's input; `nil` if the graph has no value.
  var outputNode: Int32? {
    outputSlot.map { $0 - 1 }
  }

  /// Whether the output is a node's result, and so is there also if the node failed.
  var isAcceptedOutput: Bool {
    outputNode.map { $0 >= 0 && $0 == plan.shape.acceptedOutput } ?? false
  }
}
