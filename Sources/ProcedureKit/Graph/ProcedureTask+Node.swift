extension ProcedureTask {
  /// What a graph knows of it as a node, and what it executes once the conditions among that are satisfied.
  ///
  /// What has hooks is told of its end by them, also where a condition decides; so all of it is the node's body.
  @usableFromInline var node: (traits: NodeTraits, operation: @concurrent @Sendable (Input) async throws -> Output) {
    let isPlain = isPlain
    let traits = NodeTraits(
      name: name, priority: self.traits.contents.rawPriority, conditions: isPlain ? admission.conditions : [])
    return (traits, isPlain ? operation : executeAsBody)
  }
}
