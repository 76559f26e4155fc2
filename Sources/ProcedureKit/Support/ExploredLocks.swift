#if ExploredLocks
  /// If PROCEDUREKIT_EXPLORED_LOCKS is set in the environment of a build, explorations choose the order of the core's own lock operations;
  /// see `Package.swift`.
  @_exported public import ExploredLocks

  typealias Mutex = ExploredMutex
  typealias Atomic = ExploredAtomic
#endif
