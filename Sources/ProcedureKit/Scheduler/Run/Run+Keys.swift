/// The key of a run, which identifies on whose behalf the run executes.
extension Run {
  /// The key of the run, or of the nearest enclosing run with a key.
  var key: InternedKey? { weightedKey?.value }

  /// The key of the run, or of the nearest enclosing run with a key, and its weight: how many runs can start each time it is the key's
  /// turn.
  var weightedKey: ModifierLayer.WeightedKey? { ancestors.lazy.compactMap(\.layer.traits.key).first }

  /// The identity of the key, for the machine and the limiter, which contain none of the user's objects. The run keeps the key alive.
  var keyID: ObjectIdentifier? { key.map(ObjectIdentifier.init) }

  /// Whether the run is a node with its own key. While the node executes, its worker has that key, because the node uses the worker's slot.
  var hasKeyOfNode: Bool { kind == .node && core.usesKeys && layer.traits.key != nil }

  /// Moves the body to the key of another run and waits for a slot for that key.
  func switchKey(to keyed: Run) async {
    let (owner, id) = (slotOwner, keyed.keyID)
    core.send { state, effects in
      let member = state.runs[owner].member
      if member >= 0 { state.machine.keyReplaced(of: member, by: id, &effects.next) }
    }
    await reacquireSlot()
  }
}
