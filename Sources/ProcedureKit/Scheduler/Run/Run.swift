import Synchronization

/// One execution of one layer of a procedure: everything that executes is a run.
///
/// The differences are data: who drives the run, whose slot it uses, its parent. A layer inside of a layer, an attempt, a copy of a hedge, a
/// produced child, a node, a procedure without a queue: all are runs, and `RunDriver` leads them through the phases of `QueueMachine`.
///
/// Invariant of `@unchecked Sendable`: the state of the run is reached only through the `RunTable` of its queue, which is a part of what the queue's
/// lock guards, or by the code that makes the run, before anything else refers to it. `outcome` is written once, through the table, before the run
/// is marked as finished; without the lock it is read only after. `parent` is changed only when nothing else refers to the run.
///
/// `package` for `ProcedureKitDurable` and `ProcedureKitRemote`.
@usableFromInline
package final class Run: @unchecked Sendable {
  /// The purpose of a call of the body.
  @usableFromInline
  enum BodyStage: Sendable {
    case reuse
    case hooks
    case execute
  }

  @usableFromInline typealias Body = @Sendable (Run, BodyStage) async throws -> any Sendable
  typealias Outcome = ModifierLayer.Outcome

  enum Kind: UInt8, Sendable {
    /// Run in the caller's task.
    case structured
    /// Added to a queue: a worker executes the body.
    case added
    /// A layer, or an attempt, of the run around it.
    case layer
    /// A procedure that the body of another one calls.
    case call
    /// A copy of a hedge: part of the run around it, with a slot of its own.
    case copy
    /// A node of a graph that has more than a body.
    case node
    /// A node that has only a body, which needs a run: its events are those of its graph.
    case bareNode
    /// A further worker of a graph.
    case graphWorker

    /// Whether runs have an id and events of their own; layers, attempts and copies report under those of the run around them.
    var isReported: Bool {
      switch self {
      case .structured, .added, .node, .bareNode: true
      case .layer, .call, .copy, .graphWorker: false
      }
    }
  }

  @usableFromInline package let core: QueueCore
  @usableFromInline let layer: ModifierLayer
  let id: ProcedureID
  let kind: Kind
  let attempt: Int32
  /// The run around this one. Changed only when nothing else refers to this run yet, or any more.
  private(set) var parent: Run?
  /// Whether a body that was cancelled before calls the procedure, to clean up: that cancel does not count for it.
  let cleansUp: Bool
  /// Whether the run cleans up, or is within a run that does: the cancel of the task, and of the body around, does not count.
  let ignoresEarlierCancel: Bool
  /// Whether that cancellation has cancelled the task, too, so that the task says nothing about this run. The task of a body that `run` executes in its
  /// caller's is not cancelled with the body (C3): a task group in such a call cancels its procedures as elsewhere.
  let ignoresTaskCancellation: Bool
  /// The run whose slot the body uses.
  private let slotRun: Run?
  /// The run under whose id this one reports; `nil` for itself. Stored, so that deep layers do not search for it.
  private let reportingRun: Run?
  /// Whether a layer of the procedure around this one declares resources.
  private let isWithinDemands: Bool
  /// Whether the run need not wait for a condition that ignores its cancellation: it is part of an added run, and not of a call, which is
  /// structured and returns when all of its tasks have ended.
  let leavesConditionsBehind: Bool

  /// The state that the lock of the queue guards; see `RunTable`. The compiler checks overlapping accesses to the table, so that the run time need not.
  @exclusivity(unchecked) fileprivate var guardedState: RunState
  fileprivate(set) var outcome: Outcome?
  fileprivate let marks = Atomic<UInt8>(0)

  init(
    _ core: QueueCore, _ layer: ModifierLayer, _ kind: Kind, parent: Run?, id: ProcedureID? = nil, attempt: Int = 1,
    slotOf owner: Run? = nil,
    closures: ModifierLayer.Closures? = nil, body: Body? = nil
  ) {
    (self.core, self.layer, self.kind, self.parent, slotRun) = (core, layer, kind, parent, owner)
    guardedState = RunState(body: body, closures: closures)
    (self.attempt, self.id) = (Int32(clamping: attempt), id ?? ProcedureID.reserve())
    reportingRun = kind.isReported ? nil : parent?.reported
    isWithinDemands =
      kind == .layer && parent.map { !$0.layer.traits.demands.isEmpty || $0.isWithinDemands } ?? false
    leavesConditionsBehind =
      switch kind {
      case .added: true
      case .structured, .call: false
      case .layer, .copy, .node, .bareNode, .graphWorker: parent?.leavesConditionsBehind ?? false
      }
    switch kind {
    case .call:
      let mayIgnore = parent.map { !$0.isStopping } ?? false
      let isTaskCancelled = Task.isCancelled && parent?.isTaskOfBodyCancelled ?? false
      cleansUp = mayIgnore && (isTaskCancelled || parent?.isCancelledOrStopping ?? false)
      ignoresEarlierCancel = cleansUp || mayIgnore && parent?.ignoresEarlierCancel ?? false
      let isTaskCancelledWithBody = cleansUp ? parent?.slotOwner.kind != .structured : parent?.ignoresTaskCancellation
      ignoresTaskCancellation = ignoresEarlierCancel && (isTaskCancelledWithBody ?? false || isTaskCancelled)
    case .layer, .copy, .node, .bareNode, .graphWorker:
      cleansUp = false
      ignoresEarlierCancel = parent?.ignoresEarlierCancel ?? false
      ignoresTaskCancellation = parent?.ignoresTaskCancellation ?? false
    case .structured, .added: (cleansUp, ignoresEarlierCancel, ignoresTaskCancellation) = (false, false, false)
    }
  }

  deinit {
    // The last handle has gone.
    if isAddedByUser, case .failed(let error)? = outcome, marks.load(ordering: .relaxed) & Self.observedMark == 0 {
      core.reportUnobservedFailure(ProcedureFailure(procedure: identity, error: error))
    }
    // A long chain of parents is released in a loop.
    var ancestor = parent.take()
    while isKnownUniquelyReferenced(&ancestor) { ancestor = ancestor?.parent.take() }
  }

  var name: String { layer.name }

  /// Sets the body, before anything else refers to the run.
  func prepare(_ body: @escaping Body) { guardedState.body = body }

  /// The parent does not take the run as a child.
  func leaveParent() { parent = nil }

  /// Whether the run was added to a queue, and not produced by a body.
  var isAddedByUser: Bool { kind == .added && parent == nil }

  /// Whether the outcome can be read.
  @usableFromInline var isFinished: Bool { marks.load(ordering: .acquiring) & Self.finishedMark != 0 }

  /// The metrics of a run that has ended and was measured, for its handle and its graph.
  var metrics: ProcedureMetrics? { core.read { $0.runs[self].metrics } }

  /// Somebody learns of the outcome.
  func setObserved() { marks.bitwiseOr(Self.observedMark, ordering: .relaxed) }

  /// Whether the events of the run are kept in a log.
  var hasLog: Bool { marks.load(ordering: .relaxed) & Self.loggedMark != 0 }

  func setLogged() { marks.bitwiseOr(Self.loggedMark, ordering: .relaxed) }

  fileprivate static let finishedMark: UInt8 = 1
  private static let observedMark: UInt8 = 2
  private static let loggedMark: UInt8 = 4

  /// Whether the run has an id and events of its own.
  var isReported: Bool { kind.isReported }

  /// The run under whose id this one reports.
  package var reported: Run { reportingRun ?? self }

  var identity: ProcedureIdentity {
    let run = reported
    return ProcedureIdentity(id: run.id, name: run.name)
  }

  /// The identity of the run, under the name of its own layer.
  package var layerIdentity: ProcedureIdentity { ProcedureIdentity(id: reported.id, name: name) }

  /// The run whose slot the body uses: its own, or that of the run around it.
  var slotOwner: Run { slotRun ?? self }

  /// Whether the run executes as a part of a body around it, and uses the slot of that body.
  var isPartOfBody: Bool { slotRun != nil && slotRun !== self }

  var isDrivenByWorker: Bool { kind == .added }

  var ancestors: UnfoldFirstSequence<Run> { sequence(first: self, next: \.parent) }

  /// The layers of the same procedure around this one, from the inside; empty if none of them declares resources.
  ///
  /// O(n) for n layers. Layers that declare nothing are not walked, so that 10,000 of them take no square of that time.
  var enclosingLayers: [Run] {
    guard isWithinDemands else { return [] }
    var layers: [Run] = []
    var run = self
    while run.isWithinDemands, let parent = run.parent {
      layers.append(parent)
      run = parent
    }
    return layers
  }

  // MARK: The state

  /// The public state of the run.
  var state: ProcedureState { core.read { state($0) } }

  /// The public state of the run (L1).
  func state(_ state: borrowing QueueCore.State) -> ProcedureState {
    let member = state.runs[self].member
    guard member >= 0 else { return outcome == nil ? .pending : .finished }
    if outcome != nil { return .finished }
    let entry = state.machine[member]
    return entry.phase.state(needsConditions: entry.needs.contains(.conditions), isPaused: isPausedByLayer(state))
  }

  /// Whether a layer of the procedure pauses, and the run and its layers hold no slot.
  private func isPausedByLayer(_ state: borrowing QueueCore.State) -> Bool {
    var (layers, isPaused) = ([self], false)
    while let run = layers.popLast() {
      let entry = state.machine[state.runs[run].member]
      if entry.holdsSlot { return false }
      isPaused = isPaused || entry.phase == .pausing
      for child in state.runs[run].details.children.byID.values
      where !child.isReported && state.runs[child].member >= 0 {
        layers.append(child)
      }
    }
    return isPaused
  }

  /// The value of a run that has succeeded.
  @usableFromInline
  var value: (any Sendable)? {
    if case .finished(let value)? = outcome { value } else { nil }
  }
}

/// The runs of one queue: those that are there, by their places in the machine, and the state of each.
///
/// The table is a part of what the lock of the queue guards, and cannot be copied. It is the only way to the state of a run. So a function that
/// reads the state of a run borrows the table, a function that changes the state takes the table as `inout`, and the compiler checks that
/// both are called under the lock.
struct RunTable: ~Copyable, Sendable {
  private var places: ContiguousArray<Run?> = []

  /// The state of a run of this queue.
  subscript(run: Run) -> RunState {
    @inline(__always) _read { yield run.guardedState }
    @inline(__always) _modify { yield &run.guardedState }
  }

  /// The run at a place of the machine.
  subscript(member: MemberID) -> Run? { places[Int(member)] }

  /// Stores a run at the place that the machine has given it.
  mutating func insert(_ run: Run, at member: MemberID) {
    if Int(member) == places.count { places.append(run) } else { places[Int(member)] = run }
    run.guardedState.member = member
  }

  /// Removes a run that has left the machine.
  mutating func remove(_ run: Run, isLast: Bool) {
    if isLast { places = [] } else { places[Int(run.guardedState.member)] = nil }
    run.guardedState.member = -1
  }

  /// Writes the outcome of a run, and marks the run as finished.
  mutating func setOutcome(_ outcome: Run.Outcome, of run: Run) {
    run.outcome = outcome
    run.setFinished()
  }
}

extension Run {
  fileprivate func setFinished() { marks.bitwiseOr(Self.finishedMark, ordering: .releasing) }
}
