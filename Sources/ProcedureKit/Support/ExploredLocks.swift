#if ExploredLocks
  /// With the trait `ExploredLocks` of the package, explorations choose the order of the core's own lockings.
  @_exported public import ExploredLocks

  typealias Mutex = ExploredMutex
  typealias Atomic = ExploredAtomic
#endif
