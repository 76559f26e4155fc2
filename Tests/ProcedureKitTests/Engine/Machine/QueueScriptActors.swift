@testable import ProcedureKit

/// A task that waits for a member to be woken, and then looks whether what it waits for has come.
protocol ScriptWaiter: AnyObject {
  var waits: Bool { get }
  /// Whether it has been woken, and has not looked yet.
  var isAwake: Bool { get set }
  /// Whether it has to go on waiting, as the machine stands now.
  func mustWait(_ machine: QueueMachine) -> Bool
}

/// A member of the queue in a ``QueueScript``, as the runtime knows it.
final class ScriptMember: ScriptWaiter {
  enum Phase {
    case pending
    /// A worker or a graph will come for it.
    case inLine
    case evaluating
    /// Its own task waits: for the queue to resume, before it evaluates conditions.
    case awaitsEvaluation
    /// Its own task waits: for a slot, before it starts the body.
    case awaitsSlot
    case executing
    /// The machine has told somebody to finish it.
    case decided
    case gone
  }

  let kind: QueueMachine.Kind
  /// What it is part of.
  let parent: ScriptMember?
  /// The part of that which awaits it.
  let lender: ScriptPart?
  var index: Int32 = -1
  var phase = Phase.evaluating
  var parts: [ScriptPart] = []
  var worker: ScriptWorker?
  var isCancelled = false
  /// What has become of its claim, if it has one.
  var claim: Claim?
  /// Its own priority, and not what it was raised to.
  var ownPriority: UInt8 = 0
  var wantsResources = false
  /// What it wants alone; 0 for something else, or nothing.
  var wish: UInt64 = 0
  /// Its claim of that.
  var deskClaim: DeskClaim?
  /// When it has come.
  var arrival = 0
  /// Whether nothing but the body itself comes before its end.
  var isBare = true
  /// Whether it has given up what it held, and may have it no more.
  var hasPaused = false
  var isAwake = false

  enum Claim {
    case awaited
    case held
  }

  init(_ kind: QueueMachine.Kind, parent: ScriptMember?, lender: ScriptPart?) {
    self.kind = kind
    self.parent = parent
    self.lender = lender
  }

  /// The body has its first part, which its task executes.
  func startBody() {
    phase = .executing
    parts = [ScriptPart(of: self)]
  }

  /// Whether it or what it is part of has been cancelled.
  var isUnderCancellation: Bool { isCancelled || parent?.isUnderCancellation ?? false }

  func isPart(of member: ScriptMember) -> Bool { parent.map { $0 === member || $0.isPart(of: member) } ?? false }

  var runsAndAncestors: [ScriptMember] {
    (kind == .helper ? [] : [self]) + (parent?.runsAndAncestors ?? [])
  }

  var waits: Bool { phase == .awaitsSlot || phase == .awaitsEvaluation }

  func mustWait(_ machine: QueueMachine) -> Bool {
    let member = machine.members[Int(index)]
    if phase == .awaitsEvaluation { return machine.isListed(index) }
    return member.lifecycle.state == .waiting && !member.holdsSlot
  }
}

/// One of several things that a body does at a time.
final class ScriptPart: ScriptWaiter {
  enum State {
    case running
    /// Has lent the body's slot, and awaits a run on the same queue that it has started itself.
    case awaitsChild
    /// The same, and its graph's workers execute.
    case runsGraph
    /// The same, and awaits something that is none of the machine's business.
    case awaitsOther
    /// The same, and awaits that the rest of the queue is idle.
    case awaitsIdle
    /// The same, and waits between two attempts.
    case pauses
    /// Wants the slot back.
    case awaitsReturn
    /// Waits before its next piece.
    case awaitsTurn
    case over
  }

  unowned let member: ScriptMember
  var state = State.running
  /// Workers of its graph that have not left.
  var helpers = 0
  var isAwake = false
  /// Whether it wants the slot back after a pause.
  var isPausing = false

  init(of member: ScriptMember) { self.member = member }

  var waits: Bool { state == .awaitsReturn || state == .awaitsTurn }

  func mustWait(_ machine: QueueMachine) -> Bool {
    state == .awaitsTurn ? machine.isInLine(member.index) : machine.isReturning(member.index)
  }
}

final class ScriptWorker {
  var isSpent = false
  /// Whether it lets other tasks have the thread, with a claim that it has put off.
  var isPaused = false
  /// Whether it has found nothing to do, and lets go of what it has executed before it stays or ends.
  var isIdle = false
  /// Whether it stays, and is about to look again.
  var lingers = false
  /// Whose conditions it evaluates, or whose body it executes; nobody's while it lets other tasks have the thread.
  var member: ScriptMember?
}

final class ScriptIdleWait {
  let part: ScriptPart
  /// Keeps the part's member.
  let member: ScriptMember
  let runs: [ScriptMember]
  var isOver = false

  init(_ part: ScriptPart) {
    self.part = part
    member = part.member
    runs = part.member.runsAndAncestors
  }
}
