/// Internal. What a procedure is besides its work. Its copies and its runs share it, so that these are small. Whoever keeps a
/// run keeps this, so nothing that a hook captures is in it.
@usableFromInline
final class ProcedureTraits: Sendable {
  struct Contents: Sendable {
    var name: String
    /// That of a `TaskPriority`, of which only the runtime knows the layout: it would be asked for it at each copy.
    var rawPriority: UInt8?
    /// How long the outermost level may take.
    var limit: TimeLimit?
  }

  let contents: Contents

  init(_ contents: Contents) {
    self.contents = contents
  }

  convenience init(name: String, priority: TaskPriority?) {
    self.init(Contents(name: name, rawPriority: priority?.rawValue))
  }
}

/// Internal. What is called at the end of a run, whatever type its value has: a class, so that a run keeps it in one word.
///
/// Invariant: nothing of it or of its subclass, ``FinishHooks``, changes.
class RunHooks: @unchecked Sendable {
  func callWillFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async -> (any Error)? {
    preconditionFailure("\(type(of: self)) has to say what it calls")
  }

  func callDidFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async {
    preconditionFailure("\(type(of: self)) has to say what it calls")
  }
}
