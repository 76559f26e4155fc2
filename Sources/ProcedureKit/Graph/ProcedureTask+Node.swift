extension ProcedureTask {
  /// The name and the priority of a node, and the function that it calls: the body as it is, or a level where there is more.
  @usableFromInline var node: (traits: NodeTraits, operation: @concurrent @Sendable (Input) async throws -> Output) {
    let traits = NodeTraits(name: name, priority: level.traits.rawPriority)
    guard !level.isPlain else { return (traits, operation) }
    return (traits, { input in try await executeAsLevel(input) })
  }
}
