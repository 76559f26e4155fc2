@testable import ProcedureKit

/// What a run of the model needs, and what its body does.
struct RunKind: Hashable {
  var isUrgent = false
  /// The number of the key; 0 for none.
  var key: UInt8 = 0
  /// The weight of the key; at most 3.
  var weight: UInt8 = 1
  /// The resources that the run claims, one bit each.
  var resources: UInt8 = 0
  /// The number of units of each resource that the run claims: half of them, or all.
  var isExclusive = true
  var isDrivenByWorker = true
  var hasConditions = false
  var hasDelay = false
  /// Whether the run depends on the run that was admitted before it.
  var dependsOnPrevious = false
  /// Whether the body executes twice, with a pause in between.
  var pauses = false
  /// Whether the body waits once, and then needs its slot again.
  var waits = false
  /// Whether the body executes another run and waits for it.
  var nests = false

  /// The capacity of each resource.
  static let capacity: Int32 = 2

  var units: Int32 { isExclusive ? Self.capacity : 1 }
  /// The priorities of runs are the two highest levels, so a run that is not urgent can rise once.
  static let ordinary: UInt8 = 25
  static let urgent: UInt8 = 33
  var priority: UInt8 { isUrgent ? Self.urgent : Self.ordinary }
}

/// One run of the model: the part of its state that `Run` and its driver keep outside of the machine.
struct ModelRun {
  /// What the driver of the run does next.
  enum Task: UInt8 {
    /// The run has not been admitted yet.
    case absent
    /// Nothing: an event of the machine will follow.
    case rest
    case evaluate, evaluating, timer, request, start, body
    /// The body waits, or waits for its slot.
    case wait, slot
    /// The outcome is decided, then the claim is released, then the end is published.
    case decide, release, publish
    case over
  }

  /// How the dependency of a run has ended, until the run has been notified.
  enum Notice: UInt8 { case none, succeeded, failed }

  /// The state of the run's claim, according to the answers of the table.
  enum Claim: UInt8 { case none, waiting, granted }

  var kind = RunKind()
  var kindNumber: UInt8 = 0
  /// The priority that the machine has been told.
  var priority: UInt8 = 0
  var member: MemberID = -1
  var task = Task.absent
  var isCancelled = false
  var isDecided = false
  var hasStarted = false
  var hasSucceeded = false
  /// The index of the unfinished dependency; -1 if there is none.
  var dependency: Int8 = -1
  var notice = Notice.none
  var claim = Claim.none
  /// The position of the claim in the order of requests.
  var claimOrder: UInt8 = 0
  /// Whether the claim was granted and the machine has not been informed yet.
  var hasGrant = false
  /// Whether the run was cancelled while its driver was about to claim resources. The driver still claims them.
  var claimsLate = false
  /// The index of the enclosing run, and of the run that the body executes; -1 if there is none.
  var parent: Int8 = -1
  var child: Int8 = -1
  var pausesLeft = false
  var waitsLeft = false
  var nestsLeft = false
  /// The phase after the previous step.
  var seenPhase = RunPhase.finished
  /// Whether the run was waiting for a slot after the previous step.
  var isWaiting = false
  /// The number of intervals that had passed when the run began to wait for its slot.
  var waitsSince: UInt8 = 0
  /// Whether the run was waiting for a slot that it could have taken, after the previous step.
  var couldTakeSlot = false

  /// Whether the run is in the machine.
  var isPresent: Bool { member >= 0 }
  /// Whether the run can still do something.
  var isLeft: Bool { task != .absent && (task != .over || claimsLate) }
}

/// The runs of the model. They are stored in place, because they are copied for each step.
struct ModelRuns {
  static let capacity = 4

  private var runs = (ModelRun(), ModelRun(), ModelRun(), ModelRun())

  subscript(index: Int) -> ModelRun {
    get {
      switch index {
      case 0: runs.0
      case 1: runs.1
      case 2: runs.2
      default: runs.3
      }
    }
    _modify {
      switch index {
      case 0: yield &runs.0
      case 1: yield &runs.1
      case 2: yield &runs.2
      default: yield &runs.3
      }
    }
  }
}
