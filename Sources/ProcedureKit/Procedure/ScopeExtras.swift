import Synchronization

/// Internal. What a scope has besides what each run needs: made with a scope that was started from somewhere, or for the first that it
/// needs of this. One object for all of it, so that the many runs without are small.
///
/// Invariant: what this class stores is constant, atomic or has its lock; subclasses say which lock guards the rest.
class ScopeExtras: @unchecked Sendable {
  private let start: Mutex<ProcedureContext?>
  /// How long it may take, unless a worker sees to that.
  final let limit: RunLimit?
  private let group = LazyObject<ChildGroup>()

  init(startedFrom context: ProcedureContext? = nil, limit: RunLimit? = nil) {
    start = Mutex(context)
    self.limit = limit
  }

  /// Where the scope was started from.
  final var parent: ProcedureContext? { start.withLock { $0 } }

  final func replaceParent(by context: ProcedureContext?) {
    let former = start.withLock { start in
      defer { start = context }
      return start
    }
    _ = former
  }

  /// What the body has produced, or may have.
  final var children: ChildGroup? { group.value }

  final func madeChildren(_ make: () -> ChildGroup) -> ChildGroup { group.made(make) }
}
