/// Internal. A graph, built once and walked by every run of it: flat, immutable, shared.
final class GraphPlan: Sendable {
  let shape: GraphShape
  /// One for each node, in the order in which they were added.
  let steps: ContiguousArray<NodeStep>
  let layout: ValueLayout

  init(shape: GraphShape, steps: ContiguousArray<NodeStep>, layout: ValueLayout) {
    self.shape = shape
    self.steps = steps
    self.layout = layout
  }

  /// Where the value of a node lies; the first slot is that of the graph's input.
  func slot(of node: Int32) -> Int32 {
    node + 1
  }
}

/// Internal. What a node does, whatever the types of its values.
///
/// Invariant: it and its one subclass store only constants.
class NodeStep: @unchecked Sendable {
  let name: String
  let conditions: [Condition]
  /// The slots from which it takes its input.
  let inputs: ContiguousArray<Int32>

  init(name: String, conditions: [Condition], inputs: ContiguousArray<Int32>) {
    self.name = name
    self.conditions = conditions
    self.inputs = inputs
  }

  /// Takes the inputs out of the arena, executes the body in its context, and puts its value there.
  ///
  /// - Throws: What the body throws.
  func execute(in arena: ValueArena, _ context: ProcedureContext) async throws {
    preconditionFailure("\(type(of: self)) has to have a body")
  }
}

/// Internal. A node that executes a procedure's operation.
final class ProcedureStep<Input: Sendable, Output: Sendable>: NodeStep, @unchecked Sendable {
  private let gather: @Sendable (ValueArena) -> Input
  private let operation: @concurrent @Sendable (Input) async throws -> Output
  private let output: ValueSlot<Output>

  init(
    _ task: ProcedureTask<Input, Output>, inputs: ContiguousArray<Int32>,
    gather: @escaping @Sendable (ValueArena) -> Input, output: ValueSlot<Output>
  ) {
    self.gather = gather
    // What has hooks is told of its end by them, also where a condition decides; so all of it is the node's body.
    operation = task.isPlain ? task.operation : task.executeInCurrentContext
    self.output = output
    super.init(name: task.name, conditions: task.isPlain ? task.admission.conditions : [], inputs: inputs)
  }

  override func execute(in arena: ValueArena, _ context: ProcedureContext) async throws {
    let result: Result<Output, any Error>
    do {
      result = .success(try await operation(gather(arena)))
    } catch {
      result = .failure(error)
    }
    arena.put(try await context.settleChildren(result), into: output)
  }
}
