import ExploredLocks

/// A lock that a strand holds, or asks for.
struct LockUse {
  var lock: LockIdentity
  /// The carrier on which the strand runs: a held lock belongs to a thread.
  var carrier: Carrier
  var strand: Int
  /// The place of the locking.
  var place: CodePlace
  var turn: Turn
}

/// The point at which a strand locks or performs an atomic operation.
struct Turn {
  var thread: Platform.Thread
  /// The depth of the stack.
  var depth: UInt = 0
  /// Whether operations at this depth happen under a lock of the runtime. They are no choices, and a strand that waits
  /// here has to go on as soon as possible, since other strands could wait for the runtime's lock.
  var isUnderLock = false
}
