/// Internal. A run in the task that called `run`.
///
/// Invariant: what can change is guarded by the lock of `core`, see ``SlotHolder``.
@usableFromInline
final class StructuredRun: Run, @unchecked Sendable {
  /// What wants to know when the run is cancelled otherwise than through its task.
  var cancellationHandlers: [ObjectIdentifier: @Sendable () -> Void] = [:]

  /// Its body, where that has a task of its own, so that it can be cancelled without the caller's.
  let body: CancellableWork?

  /// Why it ends without its body, where what it wanted to hold would never have been there.
  var refusal: (any Error)?

  @inline(__always)
  init(_ work: AnyProcedureWork, core: QueueCore, wanting resources: ResourceDemands?, extras: RunExtras?) {
    body = extras?.limit == nil ? nil : .make()
    super.init(work, core: core, wanting: resources, extras: extras)
  }

  override func refused(by error: ProcedureError) { refusal = error }

  override func stopBody() { core.stopBody(of: self) }

  override func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    core.addCancellationHandler(to: self, key: key, handler)
  }

  override func removeCancellationHandler(key: AnyObject) {
    core.removeCancellationHandler(from: self, key: key)
  }
}
