/// The place of a run in a `QueueMachine`. After the run ends, a later run can take its place.
typealias MemberID = Int32

/// The step that the driver of a run takes next.
enum RunStep: Sendable, Equatable {
  /// Wait: another event will advance the run.
  case wait
  /// Do nothing: the event was late, because the run had already advanced.
  case stale
  /// Evaluate the conditions (K1).
  case evaluate
  /// Pause for the delay of the layer.
  case pause
  /// Claim the resources (R1).
  case claim
  /// Release the resources and wait: before the run could start, the queue was suspended or a dependency was added (R2).
  case releaseClaim
  /// Call the hooks and execute the body.
  case start
  /// Await the children, then decide and publish the outcome.
  case finish
}

extension QueueMachine {
  /// The steps that a run has to take before it starts.
  struct Prerequisites: OptionSet, Sendable {
    let rawValue: UInt8
    static var dependencies: Prerequisites { Prerequisites(rawValue: 1) }
    static var conditions: Prerequisites { Prerequisites(rawValue: 2) }
    static var delay: Prerequisites { Prerequisites(rawValue: 4) }
    static var claim: Prerequisites { Prerequisites(rawValue: 8) }
  }

  /// The state of a run's slot.
  enum Slot: UInt8, Sendable {
    case none
    /// The body has started, and is waiting to reacquire its slot (Q3).
    case returning
    case held
  }

  /// The state of one run in the machine.
  struct Member: Sendable {
    var priority: UInt8
    /// The priority level to which the run has risen since it started waiting for a slot; 0 if it has not risen (`SlotWaits`).
    var risenPriority: UInt8 = 0
    var prerequisites: Prerequisites = []
    /// Whether a worker, rather than the caller's task, executes the body.
    var isDrivenByWorker = false
    /// Whether the run takes no slot, because it uses the slot of an enclosing body, or belongs to a cancelled body (C7).
    var takesNoSlot = false
    /// Whether the run belongs to an enclosing body. A suspended queue does not hold back a nested run, because the body is already
    /// executing (Q2).
    var isNested = false
    /// Whether the run counts towards the limit on waiting runs while it is waiting. This is the case if it was added to the queue, but not
    /// if a body produced it.
    var takesRoom = false
    /// The position in the order of admission; 0 to request the next position. A nested run has the position of the enclosing body.
    var order: UInt64 = 0
    var phase = RunPhase.pending
    var slot = Slot.none
    /// Whether the run claims resources before it starts. If so, it holds them while it is ready.
    var claims = false
    /// Whether the body has been called. If so, a run that is waiting for a slot will continue the body or execute it again.
    var hasStarted = false
    /// The number of waits in progress in the body.
    var waits: Int32 = 0
    /// The number of calls, in the body and its nested runs, that are waiting for the queue to become idle.
    var idleWaits: Int32 = 0
    /// The number that identifies the key in `fairQueue`; -1 if the run uses another run's slot, or if the queue does not use keys. If no
    /// run occupies the place, this is the next free place.
    var key: Int32 = -1
    /// The priority that determines the place of the run among those that are waiting for a slot.
    var waitingPriority: UInt8 { max(priority, risenPriority) }
    /// Whether a run occupies this place.
    var isPresent: Bool { phase != .finished }
    var holdsSlot: Bool { slot == .held }
    var isReturning: Bool { slot == .returning }
    /// Whether the run counts towards the limit on waiting runs.
    var countsAsWaiting: Bool { takesRoom && phase.awaitsStart }
    /// Whether the run holds its resources but has not started.
    var holdsClaim: Bool { claims && phase == .ready }
    /// Whether the run is nested, or its body is reacquiring its slot. Such a run gets a slot before all other runs (Q1).
    var isResuming: Bool { isNested || isReturning }

    /// Whether the run can take a slot only if a worker requests a run.
    var needsWorker: Bool { isDrivenByWorker && !isResuming }
  }

  /// The effects of an event on other runs.
  struct Next: Sendable {
    /// The run that the requesting worker executes next, if any.
    var execute: MemberID?
    /// The runs that are about to advance, each with its next step.
    var steps: [(member: MemberID, step: RunStep)] = []
    /// Runs whose bodies can continue, because they have reacquired their slots or no longer wait for them.
    var returned: [MemberID] = []
  }
}
