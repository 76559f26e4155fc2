#if ExploredLocks
  /// Replaces the locks and atomics of the core with types that let tests explore different orders of their operations.
  ///
  /// To enable this, set the environment variable PROCEDUREKIT_EXPLORED_LOCKS when building; see `Package.swift`.
  @_exported public import ExploredLocks

  typealias Mutex = ExploredMutex
  typealias Atomic = ExploredAtomic
#endif
