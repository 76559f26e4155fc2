@testable import ProcedureKit

/// The bounds of a ``QueueWorld``: what can happen in it, and how often.
struct QueueBounds {
  /// The kinds of runs. Each admission can choose any of them.
  var kinds: [RunKind]
  var runs = ModelRuns.capacity
  var width = 2
  var takesTurns = false
  var limitPerKey = Int.max
  var cancellations: UInt8 = 0
  var suspensions: UInt8 = 0
  var raises: UInt8 = 0
  var widthChanges: UInt8 = 0
  /// The number of dependencies that are added to runs after their admission.
  var addedDependencies: UInt8 = 0
  /// The number of ageing intervals that pass. Without any, runs do not rise.
  var intervals: UInt8 = 0
}

/// A queue: its machine, the table of its resources, and a model of the drivers that send events to both, as `Run` and `QueueCore` do.
///
/// A driver does not perform a step in the critical section that returns it. Therefore each step is separate, and everything else can come
/// before it: a claim can be granted to a run that has just been cancelled, for example.
///
/// Runs are named by their order of admission, and a run that has ended is forgotten. Keys and resources are named by their first use.
/// Slots and workers are only counted. States that differ in nothing else are one state.
final class QueueWorld: ModelWorld {
  let bounds: QueueBounds
  let fault: PlantedFault?
  var machine: QueueMachine
  var table = ClaimTable()
  var runs = ModelRuns()
  var admitted = 0
  /// The workers that have been started and have not asked for a run yet, and those that have executed a run and ask for another one.
  var startingWorkers: UInt8 = 0
  var askingWorkers: UInt8 = 0
  var cancellations: UInt8
  var suspensions: UInt8
  var raises: UInt8
  var widthChanges: UInt8
  var addedDependencies: UInt8
  /// The number of ageing intervals that will pass.
  var intervals: UInt8
  /// The number of ageing intervals that have passed while the queue was not suspended.
  var unsuspendedTime: UInt8 = 0
  var claimCount: UInt8 = 0
  /// For each pair of keys, the number of runs that the first one has started since the second one waits for its turn.
  var overtakings: UInt64 = 0
  /// Whether the queue was suspended before the current step.
  var wasSuspended = false
  var violation: Violation?

  /// The keys. The machine identifies a key by an object.
  private final class Key: Sendable {}
  private static let keys = [Key(), Key()]

  static func id(ofKey key: UInt8) -> ObjectIdentifier? { key == 0 ? nil : ObjectIdentifier(keys[Int(key) - 1]) }

  init(_ bounds: QueueBounds, fault: PlantedFault? = nil) {
    (self.bounds, self.fault) = (bounds, fault)
    let ages = bounds.intervals > 0 && fault != .ageingIgnored
    machine = QueueMachine(
      width: bounds.width, isSuspended: false,
      fairQueue: FairQueue(
        takesTurns: bounds.takesTurns && fault != .keysInOrderOfAdmission, limit: bounds.limitPerKey),
      slotWaits: SlotWaits(ageingInterval: ages ? (fault == .ageingTooSlow ? 2 : 1) : nil))
    intervals = bounds.intervals
    (cancellations, suspensions, raises) = (bounds.cancellations, bounds.suspensions, bounds.raises)
    (widthChanges, addedDependencies) = (bounds.widthChanges, bounds.addedDependencies)
    if bounds.kinds.contains(where: { $0.resources != 0 }) {
      for _ in 0..<2 { _ = table.resourceOpened(capacity: RunKind.capacity) }
    }
  }

  private init(copying other: QueueWorld) {
    (bounds, fault, machine, table, runs) = (other.bounds, other.fault, other.machine, other.table, other.runs)
    (admitted, startingWorkers, askingWorkers) = (other.admitted, other.startingWorkers, other.askingWorkers)
    (cancellations, suspensions, raises) = (other.cancellations, other.suspensions, other.raises)
    (widthChanges, addedDependencies, intervals) = (other.widthChanges, other.addedDependencies, other.intervals)
    (claimCount, overtakings, wasSuspended) = (other.claimCount, other.overtakings, other.wasSuspended)
    unsuspendedTime = other.unsuspendedTime
  }

  func copied() -> Self { Self(copying: self) }

  /// Whether the bounds permit no further run, and every run has ended.
  var isOver: Bool {
    var index = 0
    while index < admitted {
      if runs[index].isLeft { return false }
      index += 1
    }
    return true
  }

  func fail(_ invariant: Invariant, _ message: @autoclosure () -> String) {
    if violation == nil { violation = Violation(invariant: invariant, message: message()) }
  }

  /// Returns the index of the run at a place in the machine.
  func index(of member: MemberID) -> Int? {
    var index = 0
    while index < admitted {
      if runs[index].member == member { return index }
      index += 1
    }
    return nil
  }

  /// The steps of the world. A step's number is the number of its action times four, plus the index of a run.
  enum Action: UInt16 {
    case evaluate, satisfyConditions, endPause, request, deliverGrant, start, endBody, endAtOnce, pause, startWait,
      endWait
    case giveUpSlot, nest, decide, release, publish, notify, claimLate
    case cancel, raise, addDependency
    case suspend, resume, changeWidth, passInterval, askStarting, askAgain
    /// The first of the admissions, one for each kind of run.
    case admit
  }

  static func step(_ action: Action, _ index: Int = 0) -> UInt16 { action.rawValue &* 4 &+ UInt16(index) }

  static func admission(of kind: Int) -> UInt16 { Action.admit.rawValue &* 4 &+ UInt16(kind) }

  func name(of step: UInt16) -> String {
    guard step < Self.admission(of: 0) else {
      return "admit \(bounds.kinds[Int(step - Self.admission(of: 0))])"
    }
    return Action(rawValue: step / 4).map { "\($0) \(step % 4)" } ?? "\(step)"
  }

  // MARK: The possible steps

  func addSteps(to steps: inout ContiguousArray<UInt16>) -> Int {
    let start = steps.count
    var index = 0
    while index < admitted {
      addSteps(of: index, runs[index], to: &steps)
      index += 1
    }
    if startingWorkers > 0 { steps.append(Self.step(.askStarting)) }
    if askingWorkers > 0 { steps.append(Self.step(.askAgain)) }
    if machine.isSuspended { steps.append(Self.step(.resume)) }
    let certain = steps.count - start
    addPossibleSteps(to: &steps)
    return certain
  }

  /// Adds the steps that the driver of a run takes, unless something else happens first.
  private func addSteps(of index: Int, _ run: ModelRun, to steps: inout ContiguousArray<UInt16>) {
    if run.hasGrant { steps.append(Self.step(.deliverGrant, index)) }
    if run.notice != .none { steps.append(Self.step(.notify, index)) }
    if run.claimsLate { steps.append(Self.step(.claimLate, index)) }
    switch run.task {
    case .absent, .rest, .over: break
    case .evaluate: steps.append(Self.step(.evaluate, index))
    case .evaluating: steps.append(Self.step(.satisfyConditions, index))
    case .timer: steps.append(Self.step(.endPause, index))
    case .request: steps.append(Self.step(.request, index))
    case .start: steps.append(Self.step(.start, index))
    case .body:
      steps.append(Self.step(.endBody, index))
      if run.isCancelled { return }
      if run.parent < 0, !hasDependents(index) { steps.append(Self.step(.endAtOnce, index)) }
      if run.pausesLeft { steps.append(Self.step(.pause, index)) }
      if run.waitsLeft { steps.append(Self.step(.startWait, index)) }
      if run.nestsLeft, admitted < bounds.runs { steps.append(Self.step(.nest, index)) }
    case .wait: if run.child < 0 { steps.append(Self.step(.endWait, index)) }
    case .slot: if run.isCancelled { steps.append(Self.step(.giveUpSlot, index)) }
    case .decide: steps.append(Self.step(.decide, index))
    case .release: steps.append(Self.step(.release, index))
    case .publish: steps.append(Self.step(.publish, index))
    }
  }

  /// Adds the steps that need not happen.
  private func addPossibleSteps(to steps: inout ContiguousArray<UInt16>) {
    if admitted < bounds.runs {
      var kind = 0
      while kind < bounds.kinds.count {
        // A run without another one before it has no dependency, so it would be a run of another kind.
        if !bounds.kinds[kind].dependsOnPrevious || admitted > 0 { steps.append(Self.admission(of: kind)) }
        kind += 1
      }
    }
    if suspensions > 0, !machine.isSuspended { steps.append(Self.step(.suspend)) }
    if widthChanges > 0 { steps.append(Self.step(.changeWidth)) }
    if intervals > 0 { steps.append(Self.step(.passInterval)) }
    guard cancellations > 0 || raises > 0 || addedDependencies > 0 else { return }
    var index = 0
    while index < admitted {
      let run = runs[index]
      if cancellations > 0, run.isPresent, !run.isCancelled, !run.isDecided { steps.append(Self.step(.cancel, index)) }
      if raises > 0, run.isPresent, run.priority == RunKind.ordinary,
        machine[run.member].phase.awaitsStart
      {
        steps.append(Self.step(.raise, index))
      }
      if addedDependencies > 0, possibleDependency(of: index) != nil { steps.append(Self.step(.addDependency, index)) }
      index += 1
    }
  }

  private func hasDependents(_ index: Int) -> Bool {
    var other = 0
    while other < admitted {
      if Int(runs[other].dependency) == index { return true }
      other += 1
    }
    return false
  }

  /// Returns another run on which a run that has not started can depend, without a cycle.
  func possibleDependency(of index: Int) -> Int? {
    let run = runs[index]
    guard run.isPresent, !run.hasStarted, !run.isCancelled, run.dependency < 0, run.notice == .none, run.parent < 0,
      machine[run.member].phase.awaitsStart
    else { return nil }
    var other = 0
    while other < admitted {
      var reached = other
      while reached != index, runs[reached].dependency >= 0 { reached = Int(runs[reached].dependency) }
      if reached != index, other != index, runs[other].isPresent, runs[other].parent < 0, !runs[other].isDecided {
        return other
      }
      other += 1
    }
    return nil
  }
}
