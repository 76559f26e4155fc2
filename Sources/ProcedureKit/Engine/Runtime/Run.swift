/// Internal. One run of one procedure on a queue.
///
/// Invariant: what can change is guarded by the lock of `core`, see ``SlotHolder``.
class Run: SlotHolder, @unchecked Sendable {
  let id = ProcedureID.reserve()
  let name: String
  /// Whether a cancel came in time, and its reason.
  var cancellation: Cancellation?

  /// A cancel that decided a run.
  struct Cancellation {
    let reason: (any Error)?
  }

  init(name: String, core: QueueCore, parent: ProcedureContext?) {
    self.name = name
    super.init(core: core, parent: parent)
  }

  var identity: ProcedureIdentity { ProcedureIdentity(id: id, name: name) }

  override func identity(of part: Int32) -> ProcedureIdentity { identity }

  override var isCancelled: Bool { core.cancellation(of: self) != nil }

  override var cancellationReason: (any Error)? { core.cancellation(of: self)?.reason }

  /// Where its own events are kept, if it is one whose events can be asked for and somebody has.
  var log: EventLog? { nil }
}
