#if ExploredLocks
  /// If the environment variable PROCEDUREKIT_EXPLORED_LOCKS is set during a build, the core uses locks and atomics that let tests explore
  /// different orders of their operations. See `Package.swift`.
  @_exported public import ExploredLocks

  typealias Mutex = ExploredMutex
  typealias Atomic = ExploredAtomic
#endif
