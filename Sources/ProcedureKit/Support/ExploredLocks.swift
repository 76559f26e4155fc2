#if ExploredLocks
  /// If PROCEDUREKIT_EXPLORED_LOCKS is set in the environment of a build, explorations determine the order of the lock operations in the
  /// core. See `Package.swift`.
  @_exported public import ExploredLocks

  typealias Mutex = ExploredMutex
  typealias Atomic = ExploredAtomic
#endif
