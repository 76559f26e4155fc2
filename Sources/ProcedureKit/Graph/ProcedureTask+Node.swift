extension ProcedureTask {
  /// What a graph executes as a node, once the conditions of ``nodeTraits`` are satisfied.
  ///
  /// What has hooks is told of its end by them, also where a condition decides; so all of it is the node's body.
  @usableFromInline var nodeOperation: @concurrent @Sendable (Input) async throws -> Output {
    isPlain ? operation : executeInCurrentContext
  }

  @usableFromInline var nodeTraits: NodeTraits {
    NodeTraits(name: name, priority: priority, conditions: isPlain ? admission.conditions : [])
  }
}
