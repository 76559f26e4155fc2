extension ProcedureTask {
  /// The traits of a node, and the function that it calls: the body as it is, or a run where there is more.
  @usableFromInline var node: (traits: NodeTraits, operation: @concurrent @Sendable (Input) async throws -> Output) {
    let traits = NodeTraits(
      name: name, priority: level.traits.rawPriority,
      isPlain: level.isPlain && level.traits.key == nil && configure == nil, version: level.traits.version,
      weight: Float(level.traits.weight))
    guard !traits.isPlain else { return (traits, operation) }
    return (traits, { input in try await RunDriver.runNode(self, input) })
  }
}
