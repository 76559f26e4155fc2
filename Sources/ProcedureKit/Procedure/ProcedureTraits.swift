/// Internal. What a procedure is besides its work. Its copies and its runs share it, so that these are small.
@usableFromInline
final class ProcedureTraits: Sendable {
  struct Contents: Sendable {
    var name: String
    /// That of a `TaskPriority`, of which only the runtime knows the layout: it would be asked for it at each copy.
    var rawPriority: UInt8?
    /// How long the outermost level may take.
    var limit: TimeLimit?
    /// What is called when the outermost level comes to its end.
    var hooks: (any RunHooks)?
  }

  let contents: Contents
  /// Whether nothing has to happen around the body.
  var isBare: Bool { contents.limit == nil && contents.hooks == nil }

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
