/// Internal. One run of one procedure on a queue.
///
/// Invariant: what can change is guarded by the lock of `core`, see ``SlotHolder``.
@usableFromInline
class Run: SlotHolder, @unchecked Sendable {
  let id = ProcedureID.reserve()
  final let traits: ProcedureTraits
  /// What it wants to hold, as the table of its queue knows it. Whoever keeps the run keeps the user's names for that.
  final let resources: ResourceDemands?
  /// What it claims or holds of that.
  final var claim: ResourceClaim?

  /// A cancel that decided a run.
  final class Cancellation: Sendable {
    let reason: (any Error)?
    let instant: ProcedureInstant

    init(reason: (any Error)?, at instant: ProcedureInstant) {
      (self.reason, self.instant) = (reason, instant)
    }
  }

  @inline(__always)
  init(
    _ work: AnyProcedureWork, core: consuming QueueCore, wanting resources: consuming ResourceDemands?,
    extras: consuming RunExtras?, priority: UInt8 = 0,
    marks: Marks = []
  ) {
    traits = work.traits
    self.resources = resources
    let admission = work.admission.withoutResources
    super.init(
      core: core, extras: extras, priority: priority,
      marks: admission.isFree ? marks : marks.union(.admission))
    if !admission.isFree { madeExtras.admission = admission }
  }

  /// Inlined, since otherwise the deinits of its subclasses count a reference to what is on its way out.
  @inline(__always)
  deinit {}

  /// Whether a cancel came in time, and its reason.
  final var cancellation: Cancellation? {
    get { extras?.cancellation }
    set { madeExtras.cancellation = newValue }
  }

  final var name: String { traits.contents.name }

  /// What has to be there besides what it wants to hold.
  final var admission: Admission { hasAdmission ? extras?.admission ?? .free : .free }

  final var conditions: [Condition] { admission.conditions }

  /// What its body waits for at this moment, by the numbers of the waits.
  final var awaited: [UInt64: AwaitTarget] {
    get { extras?.awaited ?? [:] }
    _modify { yield &madeExtras.awaited }
  }

  /// How long it may take, unless its worker sees to that.
  final var limit: RunLimit? { scopeExtras?.limit }

  /// What its body holds, where that executes.
  final var holdOfBody: ResourceHold? {
    resources == nil ? nil : core.withState { _ in claim.map(ResourceHold.init) }
  }

  /// What its body waits for on levels inside of it.
  final var innerWaits: [InnerWait] { extras?.innerWaits ?? [] }

  /// Where it stands between its attempts, once it has paused or failed for the first time.
  final var progress: AttemptProgress? { extras?.progress }

  /// The attempt that it makes; `nil` between two.
  final var attemptUnderWay: Int? {
    guard let progress else { return 1 }
    return progress.isUnderWay ? progress.attempt : nil
  }

  override final var identity: ProcedureIdentity { ProcedureIdentity(id: id, name: name) }

  final override func cancel(_ reason: (any Error)?) { core.cancel(self, reason) }

  /// Moves the run up, with everything that is a part of it or that it depends on.
  final override func raise(to priority: TaskPriority) {
    var runs: [Run] = [self]
    while let run = runs.popLast() {
      let (dependencies, parts, claim) = run.core.raise(run, to: priority.rawValue)
      runs += parts
      // A loop, since a chain of dependencies may be long.
      for dependency in dependencies {
        if let run = (dependency as? any RunDependency)?.dependencyRun {
          runs.append(run)
        } else {
          dependency.raise(to: priority)
        }
      }
      if let claim { ResourceTable.deliver(ResourceBook.shared.raise(claim, to: priority.rawValue)) }
    }
  }

  final override func waitStarted(_ wait: InnerWait) {
    core.withState { _ in madeExtras.innerWaits.append(wait) }
  }

  final override func waitEnded(_ wait: InnerWait) {
    core.withState { _ in extras?.innerWaits.removeAll { $0 === wait } }
  }

  final override var mayProduce: Bool {
    let state = core.state(of: self)
    return state == .executing || state == .pausing
  }

  final override func pauseStarted(until end: ProcedureInstant?) { core.pauseStarted(self, until: end) }

  final override func pauseEnded() { core.pauseEnded(self) }

  final override func attemptFailed(_ attempt: Int, _ error: any Error, retriedAfter delay: Duration) {
    core.attemptFailed(of: self, error, retriedAfter: delay)
  }

  final override func attemptStarted() { core.attemptStarted(of: self) }

  final override func report(_ kind: ProcedureEvent.Kind) { core.report(kind, of: self) }

  override var isCancelled: Bool { core.cancellation(of: self) != nil }

  override var cancellationReason: (any Error)? { core.cancellation(of: self)?.reason }

  /// What it wants to hold will never be there: stores that as its end. Called under the lock.
  func refused(by error: ProcedureError) {
    preconditionFailure("\(type(of: self)) has to store its end")
  }

  final override var runNumbers: ResourceLedger.RunNumbers? {
    ResourceLedger.RunNumbers(run: id.number, queue: core.number)
  }

  /// The runs that cannot end before it has.
  ///
  /// - Parameter room: How many may wait on its queue to be started, if that is limited.
  /// - Returns: The numbers of the runs.
  func claimRuns(room: Int = 0) -> ResourceLedger.ClaimRuns {
    ResourceLedger.ClaimRuns(
      own: ResourceLedger.RunNumbers(run: id.number, queue: core.number), around: parent?.claimRuns.around ?? [],
      room: parent == nil && detachedRun != nil ? room : 0)
  }

  /// Where its own events are kept, if it is one whose events can be asked for and somebody has.
  var log: EventLog? { nil }
}

extension Run: ProducedChild {}

extension Run: ResourceClaimant {
  func resourcesGranted() { core.grantResources(to: self) }

  func resourcesRefused(_ waits: [ExclusionWait]) { core.refuseResources(to: self, waits) }
}

extension Run {
  /// A part of the body has timed out that nothing was wrapped around: so has the run, as if the timeout had been its own.
  func noteTimeout(_ error: any Error) {
    if error.isTimeout(of: id) { cancel(error) }
  }
}
