/// The order in which a queue starts procedures of equal priority.
public enum QueueFairness: Sendable, Hashable {
  /// Procedures start in order of admission.
  case admissionOrder
  /// Keys take turns, and the procedures of one key start in order of admission. ``Procedure/keyed(by:)`` sets the key.
  ///
  /// A key that gets work comes behind the other keys with work, and so does a key after each start of one of its procedures. With k
  /// keys that have work, the first procedure of a key therefore starts after at most k further starts of its priority, however long
  /// the backlogs of other keys are. All procedures without a key have one turn together. The parts of a body, which are nested
  /// runs and nodes of graphs, take no turns: they go on with the body.
  case byKey
}
