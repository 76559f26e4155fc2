/// A wait for a lock that a parked waker held: the schedule has to run again without that choice.
struct LockCollision: Sendable {
  /// The depth of the waker's stack; `nil` if the waker could not be determined.
  var depth: UInt?
}
