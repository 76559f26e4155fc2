/// Internal. What few members of a queue ever need; made for the first of it.
///
/// Invariant: guarded by the lock of the member's queue.
final class RunExtras: @unchecked Sendable {
  /// Tasks that wait for it to be woken. Each looks for itself whether what it waits for has come, under the lock and
  /// before it waits, so that no wake is lost, however many wait for different things.
  var waiters: [Waiter] = []
  /// What its body waits for on levels inside of it.
  var innerWaits: [InnerWait] = []
  /// Where it stands between its attempts, once it has paused or failed for the first time.
  var progress: AttemptProgress?
  /// What it depends on, by the order of the dependencies; `nil` for those that have finished successfully.
  var dependencies: [ProcedureIdentity?] = []
  var missingDependencies = 0
  /// What it depends on, as it was given, until it is settled.
  var dependencyHandles: [any ProcedureDependency] = []
  /// What its body waits for at this moment, by the numbers of the waits.
  var awaited: [UInt64: AwaitTarget] = [:]
  /// What has to be there besides what it wants to hold. (Invariant: changed only by whoever ends an added run, once that has left
  /// its queue and nobody looks at this any more; where there is any, this object was made with the run, and is never exchanged.)
  var admission = Admission.free
  /// Its events, from when somebody has asked for them.
  var log: EventLog?
}
