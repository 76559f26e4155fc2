/// Internal. What a procedure is besides its work. Its copies and its runs share it, so that these are small. Nothing in it is the
/// user's: whoever keeps a run keeps this.
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

/// Internal. What is called at the end of a run, whatever type its value has.
protocol RunHooks: AnyObject, Sendable {
  func callWillFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async -> (any Error)?
  func callDidFinish(boxed outcome: ProcedureOutcome<BoxedValue>) async
}
