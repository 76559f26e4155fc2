import Synchronization

/// One execution of one layer of a procedure. Everything that executes is a run (L5).
///
/// A layer, an attempt, a copy of a hedge, a child that a body produced, a node, and a procedure that is executed without a queue are all
/// runs. They differ only in their data: the driver, the owner of the slot, and the parent. `Run.drive` performs the steps that
/// `QueueMachine` decides.
///
/// The `@unchecked Sendable` conformance relies on an invariant: the state of a run is accessed either through the `RunTable` of its queue,
/// which the queue's lock guards, or by the code that creates the run, before any other code refers to the run. The outcome is written
/// once, through the table, before the run is marked as finished. Code that does not hold the lock reads the outcome only afterwards.
/// `parent` changes only while no other code refers to the run.
///
/// The class is `package` because other modules use it.
@usableFromInline
package final class Run: @unchecked Sendable {
  /// The purpose of a call to the body.
  @usableFromInline
  enum BodyStage: Sendable {
    case reuse
    case hooks
    case execute
  }

  @usableFromInline typealias Body = @concurrent @Sendable (Run, BodyStage) async throws -> any Sendable

  /// The kind of a run, which determines its other properties:
  ///
  /// | kind | executed by | slot | own ID and events | counts towards the limit on waiting runs |
  /// |---|---|---|---|---|
  /// | `structured` | the caller's task | its own | yes | no |
  /// | `added` | a worker | its own | yes | if it was added to the queue, and not produced by a body |
  /// | `layer` | the task of its parent | that of its parent | no | no |
  /// | `call` | the task that calls it | that of its parent | no | no |
  /// | `copy` | a child task of its parent | its own; none in a cancelled body (C7) | no | no |
  /// | `node` | the task of a worker of the graph | that of the graph's worker | yes | no |
  /// | `bodyOnlyNode` | the task of a worker of the graph | that of the graph's worker | yes, reported by the graph | no |
  /// | `graphWorker` | a child task of the graph's task | its own, except in an end hook; none in a cancelled body (C7) | no | no |
  ///
  /// A run that executes within a body on the same queue, or that uses the slot of a body, is also *nested*. It takes its position in the
  /// order of admission from that body, and has at least the body's priority. Neither a suspended queue nor a shutdown holds it back (Q2,
  /// Q4). A child that a body produces is not nested.
  enum Kind: UInt8, Sendable {
    /// A procedure that `run` executes.
    case structured
    /// A procedure that was added to a queue, or produced by a body.
    case added
    /// A layer or an attempt of its parent.
    case layer
    /// A procedure that the body of its parent calls.
    case call
    /// A copy of a hedge.
    case copy
    /// A graph node that has modifiers or a key, or that belongs to a durable graph. Its run is created before it starts.
    case node
    /// A graph node that has only a body. Its run is created when the body needs one, for example to produce a child or to wait.
    case bodyOnlyNode
    /// An additional worker of a graph.
    case graphWorker

    /// Whether runs of this kind have their own ID and events. A run of any other kind uses the ID and the events of its nearest ancestor
    /// that has them.
    var isReported: Bool {
      switch self {
      case .structured, .added, .node, .bodyOnlyNode: true
      case .layer, .call, .copy, .graphWorker: false
      }
    }
  }

  // A queue can have a million waiting runs, so small values are stored next to each other, without padding.

  @usableFromInline package let core: QueueCore
  @usableFromInline let layer: ModifierLayer
  package let id: ProcedureID
  /// The enclosing run. It changes only while no other code refers to this run.
  private(set) var parent: Run?
  let attempt: Int32
  let kind: Kind
  /// Whether the body of the run needs a slot. If not, the run neither takes nor waits for one (C7).
  let needsSlot: Bool
  /// Whether an enclosing layer of the same procedure declares resources.
  private let isWithinDemands: Bool
  /// Whether the run can end while a condition that ignores its cancellation is still being evaluated (K1).
  ///
  /// The value is `true` for an added run and its parts: layers, copies, nodes, and graph workers. A call is structured, so it returns only
  /// after all of its tasks have ended.
  let leavesConditionsBehind: Bool
  /// The run whose slot the body uses; `nil` if the body uses the slot of its own run.
  private let slotRun: Run?
  /// The run whose ID this run uses in its reports; `nil` if this run uses its own ID. The reference is stored so that deeply nested layers
  /// need not search for it.
  private let reportingRun: Run?

  /// The state that the queue's lock guards; see `RunTable`. The compiler checks that access to the table is exclusive, so no check at
  /// run time is needed.
  @exclusivity(unchecked) fileprivate var guardedState: RunState
  /// The cancellations of enclosing bodies that the run ignores.
  let cancellationScope: CancellationScope
  /// The marks that can be read without the lock. Only the lock's holder writes `hasFinished`.
  fileprivate let hasFinished = Atomic(false)
  private let marks = Atomic<UInt8>(0)
  /// The two parts of the outcome. They are written once, before the run is marked as finished, and read only afterwards. Accesses
  /// therefore never overlap.
  @exclusivity(unchecked) fileprivate var failure: RunOutcome.Failure?
  @exclusivity(unchecked) fileprivate var storedValue: any Sendable = ()

  init(
    _ core: QueueCore, _ layer: ModifierLayer, _ kind: Kind, parent: Run?, id: ProcedureID? = nil, attempt: Int = 1,
    slotOf owner: Run? = nil, needsSlot: Bool = true, opensShield: Bool = false,
    closures: ModifierLayer.Closures? = nil, body: Body? = nil
  ) {
    (self.core, self.layer, self.kind, self.parent) = (core, layer, kind, parent)
    (slotRun, self.needsSlot) = (owner, needsSlot)
    guardedState = RunState(body: body, closures: closures)
    (self.attempt, self.id) = (Int32(clamping: attempt), id ?? ProcedureID.reserve())
    reportingRun = kind.isReported ? nil : parent?.reported
    isWithinDemands =
      kind == .layer && parent.map { !$0.layer.traits.demands.isEmpty || $0.isWithinDemands } ?? false
    leavesConditionsBehind =
      switch kind {
      case .added: true
      case .structured, .call: false
      case .layer, .copy, .node, .bodyOnlyNode, .graphWorker: parent?.leavesConditionsBehind ?? false
      }
    cancellationScope =
      switch kind {
      case .structured, .added: parent.map { CancellationScope(ofChildOf: $0, on: core) } ?? CancellationScope()
      case .layer, .copy, .node, .bodyOnlyNode, .graphWorker: parent?.cancellationScope.ofPart ?? CancellationScope()
      case .call:
        opensShield ? .shield : parent.map { CancellationScope(ofCallIn: $0) } ?? CancellationScope()
      }
  }

  deinit {
    // The last handle was released. If no code observed the failure, it is reported.
    let isObserved = marks.load(ordering: .relaxed) & Self.observedMark != 0
    if isAddedByUser, !isObserved, case .failed(let error)? = failure {
      core.reportUnobserved(ProcedureFailure(procedure: identity, error: error))
    }
    // Releases a long chain of parents iteratively, because recursion could overflow the stack.
    guard parent != nil else { return }
    var ancestor = parent.take()
    while isKnownUniquelyReferenced(&ancestor) { ancestor = ancestor?.parent.take() }
  }

  var name: String { layer.name }

  /// Removes the parent, which refused the run as a child.
  func leaveParent() { parent = nil }

  /// Whether the run was added to a queue rather than produced by a body.
  var isAddedByUser: Bool { kind == .added && parent == nil }

  /// Whether the run has finished. If so, its outcome can be read.
  @usableFromInline var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

  /// The metrics of the run, which its graph reads; `nil` unless the run was measured and has finished.
  var metrics: ProcedureMetrics? { core.read { $0.runs[self].metrics } }

  /// Records that the outcome has been observed. A failure is then not reported as unobserved.
  func setObserved() { marks.bitwiseOr(Self.observedMark, ordering: .relaxed) }

  /// Whether the events of the run are kept in a log.
  var hasLog: Bool { marks.load(ordering: .relaxed) & Self.loggedMark != 0 }

  func setLogged() { marks.bitwiseOr(Self.loggedMark, ordering: .relaxed) }

  private static let observedMark: UInt8 = 1
  private static let loggedMark: UInt8 = 2

  /// Whether the run has its own ID and events.
  var isReported: Bool { kind.isReported }

  /// Whether the instants of the first events are stored, so that a handle or a graph can read events and progress later.
  var keepsInstants: Bool {
    switch kind {
    case .added, .node: true
    case .structured, .layer, .call, .copy, .bodyOnlyNode, .graphWorker: false
    }
  }

  /// The run whose ID this one uses in its reports.
  package var reported: Run { reportingRun ?? self }

  var identity: ProcedureIdentity {
    let run = reported
    return ProcedureIdentity(id: run.id, name: run.name)
  }

  /// The identity of the run, with the name of its layer.
  package var layerIdentity: ProcedureIdentity { ProcedureIdentity(id: reported.id, name: name) }

  /// The run whose slot the body uses, which is this run or an enclosing one.
  var slotOwner: Run { slotRun ?? self }

  /// Whether the run uses the slot of an enclosing body.
  var usesSlotOfBody: Bool { slotRun != nil && slotRun !== self }

  var isDrivenByWorker: Bool { kind == .added }

  var ancestors: UnfoldFirstSequence<Run> { sequence(first: self, next: \.parent) }

  /// This run or, if it has finished, the nearest unfinished run that encloses it; `nil` if there is none.
  ///
  /// This run may already have finished, because a task can outlive the body that created it.
  var nearestUnfinished: Run? {
    for run in ancestors where run.core.read({ $0.runs[run].member >= 0 }) { return run }
    return nil
  }

  /// The enclosing layers of the same procedure, innermost first, up to the outermost one that declares resources; empty if none does.
  ///
  /// - Complexity: O(n) for n layers, and O(1) if no enclosing layer declares resources, so 10,000 nested layers do not take quadratic
  ///   time.
  var enclosingLayers: [Run] {
    Array(sequence(first: self) { $0.isWithinDemands ? $0.parent : nil }.dropFirst())
  }

  // MARK: The state

  /// The public state of the run.
  var state: ProcedureState { core.read { state($0) } }

  /// Returns the public state of the run (L1).
  func state(_ state: borrowing QueueCore.State) -> ProcedureState {
    let member = state.runs[self].member
    guard member >= 0 else { return isFinished ? .finished : .pending }
    if isFinished { return .finished }
    let entry = state.machine[member]
    return entry.phase.state(
      needsConditions: entry.prerequisites.contains(.conditions), isPaused: isPausedByLayer(state))
  }

  /// Returns whether the body has been called; `false` for a run that is not in the machine.
  func hasStarted(_ state: borrowing QueueCore.State) -> Bool {
    let member = state.runs[self].member
    return member >= 0 && state.machine[member].hasStarted
  }

  /// Returns whether a layer of the procedure is pausing while neither the run nor its layers hold a slot (L1).
  private func isPausedByLayer(_ state: borrowing QueueCore.State) -> Bool {
    var (layers, isPaused) = ([self], false)
    while let run = layers.popLast() {
      let entry = state.machine[state.runs[run].member]
      if entry.holdsSlot { return false }
      isPaused = isPaused || entry.phase == .pausing
      isPaused = isPaused || state.runs[run].details.waits.values.contains(where: \.wait.isPause)
      for child in state.runs[run].details.children.byID.values
      where !child.isReported && state.runs[child].member >= 0 {
        layers.append(child)
      }
    }
    return isPaused
  }

  /// The outcome, once the run has finished.
  var outcome: RunOutcome? { isFinished ? RunOutcome(failure: failure, storedValue: storedValue) : nil }

  /// Whether the run has finished and has produced a value.
  var hasSucceeded: Bool { isFinished && failure == nil }

  /// The value of the run, if the run succeeded.
  @usableFromInline
  var value: (any Sendable)? { hasSucceeded ? storedValue : nil }
}

/// The unfinished runs on one queue, indexed by their places in the machine. The table is the only way to access the states of runs.
///
/// The queue's lock guards the table, which cannot be copied. A function that reads the state of a run borrows the table, and a
/// function that changes the state takes the table as `inout`, so the compiler checks that both are called under the lock.
struct RunTable: ~Copyable, Sendable {
  private var places: ContiguousArray<Run?> = []

  private init() {}

  /// Creates the lock of a queue, which guards the state that `makeState` creates around the queue's table. There is no other way to create
  /// a table.
  static func locked(_ makeState: (consuming RunTable) -> QueueCore.State) -> Mutex<QueueCore.State> {
    Mutex(makeState(RunTable()))
  }

  /// The state of a run on this queue, even if the run is not in the machine.
  subscript(run: Run) -> RunState {
    @inline(__always) _read { yield run.guardedState }
    @inline(__always) _modify { yield &run.guardedState }
  }

  /// The run at a place in the machine.
  subscript(member: MemberID) -> Run? { places[Int(member)] }

  /// Stores a run at the place that the machine has assigned.
  @inline(__always) mutating func insert(_ run: Run, at member: MemberID) {
    if Int(member) == places.count { places.append(run) } else { places[Int(member)] = run }
    run.guardedState.member = member
  }

  /// Removes a run that has left the machine.
  @inline(__always) mutating func remove(_ run: Run, isLast: Bool) {
    if isLast { places = [] } else { places[Int(run.guardedState.member)] = nil }
    run.guardedState.member = -1
  }

  /// Writes the outcome of a run and marks the run as finished (L1). The outcome is written only once.
  mutating func setOutcome(_ outcome: RunOutcome, of run: Run) {
    run.failure = outcome.failure
    run.storedValue = outcome.storedValue
    run.hasFinished.store(true, ordering: .releasing)
  }
}
