import Synchronization

/// Internal. What few members of a queue ever need.
///
/// Invariant: what it adds to ``ScopeExtras`` is guarded by the lock of the member's queue, but for `listeners`, which has its own.
/// `cancellation` does not change once the outcome is decided, and is read without a lock then.
final class RunExtras: ScopeExtras, @unchecked Sendable {
  /// Who wants to know of the end of an added run.
  struct Listeners {
    var waiters: [Waiter] = []
    var dependents: [@Sendable (ProcedureOutcome<Void>) -> Void] = []
  }

  let listeners = Mutex(Listeners())
  /// Whether a cancel of a run came in time, and its reason.
  var cancellation: Run.Cancellation?
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
  // Invariant of the following three: they are set before anybody else knows of the run, and let go of by whoever ends it, without
  // the lock, when nobody looks at them any more: `admission` and `bindings` are read until the body starts, and where there are
  // hooks by the worker that calls these. Where there are any, this object was made with the run, and is never exchanged.
  /// What has to be there besides what it wants to hold.
  var admission = Admission.free
  /// What was carried to an added run, for its conditions, its body and its hooks.
  var bindings: [ContextCarrier.Binding] = []
  /// What is called at the end of an added run.
  var hooks: RunHooks?
  /// Its events, from when somebody has asked for them.
  var log: EventLog?
}
