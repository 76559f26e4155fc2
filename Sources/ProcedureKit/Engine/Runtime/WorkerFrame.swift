/// Internal. The frame of the bodies that a worker executes one after another: bound once for all of them, since binding a
/// task local costs as much as all else between two bodies.
///
/// A task that a body creates has it as well, and so has whatever else keeps the context of a body; for these it has to stand
/// for that body as long as they live. So the worker goes on with another frame after a body of which it is still referred to.
///
/// Invariant: what others read of it changes between two bodies, by the worker, where nothing but the worker's own binding
/// refers to it: see ``WorkerFrameLease``. Tasks of a body that are over by then have let go of it, as of any value that is
/// changed in place while it is uniquely referenced. `keptRun` changes while others refer to it, and is read by nobody but the
/// lease. The lease keeps `run` as long as there is one, and `keptRun` does before and after: so it lives as long as the frame.
final class WorkerFrame: ContextFrame, @unchecked Sendable {
  fileprivate(set) unowned(unsafe) var run: DetachedRun
  /// The same, where there is no lease. Most runs come and go while there is one, and are not counted here.
  fileprivate var keptRun: DetachedRun?
  /// What the run holds itself.
  fileprivate var holdOfRun: ResourceHold?

  init(_ run: DetachedRun, holding hold: ResourceHold?) {
    (self.run, keptRun, holdOfRun) = (run, run, hold)
  }

  override var scope: ProcedureScope { run }

  override var hold: ResourceHold? { holdOfRun ?? run.hold }

  override var keptHold: ResourceHold? { run.keptHold }
}

/// Internal. Knows whether anybody but the binding refers to a worker's frame, and keeps the run that it stands for.
///
/// Invariant: as long as it lives, none of those who referred to the frame at its beginning lets go of that reference: they
/// are the task local, and functions that wait for the one that this belongs to. It counts all these as one reference, its own:
/// it gives the others up on their behalf, and takes them back at its end. So the frame is uniquely referenced where nobody
/// has come to refer to it since. Nobody else knows of the frame when it begins.
struct WorkerFrameLease: ~Copyable {
  private var frame: WorkerFrame
  /// The run whose body is executed. It is the frame that keeps the last one, when the lease has ended.
  private(set) var run: DetachedRun
  private var givenUp = 0

  init(_ shared: Unmanaged<WorkerFrame>) {
    frame = shared.takeRetainedValue()
    run = frame.run
    assert(frame.keptRun === run, "WorkerFrameLease: a second one on the same frame")
    frame.keptRun = nil
    while !isKnownUniquelyReferenced(&frame) {
      shared.release()
      givenUp += 1
    }
  }

  deinit {
    frame.keptRun = run
    let shared = Unmanaged.passRetained(frame)
    for _ in 0..<givenUp { _ = shared.retain() }
  }

  /// Has the frame stand for another body, unless it is still the context of something else.
  ///
  /// - Parameters:
  ///   - run: The run whose body is executed next; afterwards the former one, so that nothing is let go of here: that may call
  ///     what is the user's.
  ///   - hold: What it holds; afterwards what the former one did.
  /// - Returns: Whether it does; if not, nothing has changed.
  mutating func exchange(_ run: inout DetachedRun, holding hold: inout ResourceHold?) -> Bool {
    guard isKnownUniquelyReferenced(&frame) else { return false }
    swap(&self.run, &run)
    frame.run = self.run
    swap(&frame.holdOfRun, &hold)
    return true
  }
}
