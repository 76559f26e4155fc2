extension Run {
  /// The key of the run; a run without a key of its own has the key of the nearest run around it.
  var key: InternedKey? {
    for run in ancestors {
      if let key = run.level.traits.key { return key }
    }
    return nil
  }

  /// The identity of the key in the values of the queue, which refer to no user's object. The run keeps the key.
  var keyID: ObjectIdentifier? { key.map(ObjectIdentifier.init) }

  /// Whether the run is a node with a key of its own: meanwhile the worker has that key, whose slot the node uses.
  var hasKeyOfNode: Bool { kind == .node && core.usesKeys && level.traits.key != nil }
}
