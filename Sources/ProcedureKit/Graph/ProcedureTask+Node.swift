extension ProcedureTask {
  /// The procedure as a node: its traits, and the operation to execute after the conditions among the traits.
  ///
  /// With hooks, a condition's decision has to call hooks, too. The conditions are then part of the operation.
  @usableFromInline var node: (traits: NodeTraits, operation: @concurrent @Sendable (Input) async throws -> Output) {
    let isPlain = isPlain
    let traits = NodeTraits(
      name: name, priority: self.traits.contents.rawPriority, conditions: isPlain ? admission.conditions : [])
    return (traits, isPlain ? operation : executeAsBody)
  }
}
