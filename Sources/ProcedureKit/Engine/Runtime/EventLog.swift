/// Internal. The events of one run, kept for those who ask for them late, and passed on to those who have asked.
///
/// Invariant: `past` is guarded by the lock of the queue that the run belongs to.
final class EventLog: @unchecked Sendable {
  var past: ContiguousArray<ProcedureEvent>
  let broadcaster = EventBroadcaster<ProcedureOccurrence>()

  init(past: ContiguousArray<ProcedureEvent>) {
    self.past = past
  }
}
