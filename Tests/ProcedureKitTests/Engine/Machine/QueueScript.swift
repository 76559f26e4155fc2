@testable import ProcedureKit

/// A random script of everything that can happen on a queue, told to a ``QueueMachine`` in the way in which `QueueCore`
/// tells it, and checked by a ``QueueModel``.
///
/// Runs come from outside and out of bodies; bodies have several parts that run other runs, graphs, and waits for idle.
final class QueueScript {
  typealias Action = QueueMachine.Action

  var random: SeededRandom
  var machine: QueueMachine
  var model: QueueModel
  /// Everybody present, and by number.
  private(set) var members: [ScriptMember] = []
  private var seats: [ScriptMember?] = []
  /// Workers that evaluate or execute.
  var workers: [ScriptWorker] = []
  var orderedWorkers = 0
  var idleWaits: [ScriptIdleWait] = []
  /// Who holds and waits for what is wanted alone, here and elsewhere.
  var desk = ScriptDesk()
  var outsiders: [DeskClaim] = []
  /// Runs that have come to follow somebody, and are not admitted yet.
  var inbox: [ScriptMember] = []
  var inboxTerms: InboxTerms?
  /// When what the leader holds was granted.
  var leadersTurn = ScriptDesk.Turn()
  /// Who has to be raised once the lock has been left.
  var raises: [(ScriptMember, UInt8)] = []
  /// Whether most of what comes wants the same alone.
  let excludes: Bool
  /// Whether nearly all of it does, and is as urgent.
  let isUniform: Bool
  /// How urgent; now and then like those who hold what they want.
  let usualPriority: UInt8
  private(set) var ways: [Way: Int] = [:]
  private var isCalm = false
  private var lastArrival = 0
  private(set) var isDraining = false
  private var trace: [String]?

  init(seed: UInt64, excludes: Bool = false, isTraced: Bool = false) {
    random = SeededRandom(seed: seed)
    self.excludes = excludes
    let isUniform = random.chance(percent: 60)
    self.isUniform = excludes && isUniform
    let isMostUrgent = random.chance(percent: 10)
    usualPriority = excludes && isMostUrgent ? .max : 17
    let width = random.pick(from: [1, 1, 2, 3, .max])
    let isSuspended = random.chance(percent: 20)
    machine = QueueMachine(width: width, isSuspended: isSuspended)
    model = QueueModel(width: width, isSuspended: isSuspended)
    trace = isTraced ? [] : nil
  }

  /// Does so many random things, and then lets everything end. Returns the first objection.
  func run(steps: Int) -> String? {
    for _ in 0..<steps where model.objection == nil { step() }
    drain()
    return model.objection
  }

  func note(_ way: Way) { ways[way, default: 0] += 1 }

  /// Notes it if somebody follows.
  func noteIfFollowed(_ way: Way) { if machine.firstFollower != nil { note(way) } }

  var story: String { (trace ?? []).joined(separator: "\n") }

  private func step() {
    switch random.below(100) {
    case 0..<(excludes ? 30 : 12) where hasRoom: admitFromOutside()
    case 31..<35: cancelSomebody()
    case 35..<(excludes ? 43 : 40): configure()
    case 43..<46: raiseSomebody()
    case 46 where outsiders.count < 2: claimElsewhere()
    default: advanceSomebody()
    }
  }

  /// Whether more may come. Those who exclude each other come in bursts: who comes behind one that waits cannot follow anybody.
  private var hasRoom: Bool {
    guard excludes else { return members.count < 9 }
    let count = members.count + inbox.count
    if count == 0 { isCalm = false } else if !isCalm { isCalm = count >= 12 || random.chance(percent: 5) }
    return !isCalm
  }

  /// Nothing comes any more, and all that is there goes on to its end.
  private func drain() {
    isDraining = true
    visit {
      call("resumed") {
        $0.resumed(&$1)
      } follow: { model, _ in
        model.resumed()
      }
    }
    if model.width < 1 { changeWidth(to: 1) }
    if random.chance(percent: 30) { shutDown() }
    var patience = 5_000
    while model.objection == nil,
      !(members.isEmpty && workers.isEmpty && orderedWorkers == 0 && idleWaits.isEmpty
        && outsiders.isEmpty && inbox.isEmpty)
    {
      patience -= 1
      if patience == 0 { model.object("these wait for ever: \(members.map { "\($0.index) \($0.phase)" })") }
      advanceSomebody()
    }
    guard model.objection == nil else { return }
    if machine.slots.taken != 0 { model.object("\(machine.slots.taken) slots have leaked") }
    if machine.leader != nil || machine.firstFollower != nil { model.object("somebody leads or follows who has left") }
    if !machine.isEmpty || !machine.isIdle || machine.isGated { model.object("Q4: the empty queue is not idle") }
  }

  private func advanceSomebody() {
    // Most of those who exclude each other only wait.
    if excludes, random.chance(percent: 50) {
      if orderedWorkers > 0, random.chance(percent: 20) { return startWorker() }
      let busy = members.filter { $0.phase == .executing }
      if !busy.isEmpty { return advance(random.pick(from: busy)) }
    }
    var choice = random.below(members.count + workers.count + idleWaits.count + outsiders.count + 1)
    if choice < members.count { return advance(members[choice]) }
    choice -= members.count
    if choice < workers.count { return advance(workers[choice]) }
    choice -= workers.count
    if choice < idleWaits.count { return advance(idleWaits[choice]) }
    choice -= idleWaits.count
    if choice < outsiders.count { return endElsewhere(outsiders[choice]) }
    if orderedWorkers > 0 { startWorker() }
  }

  // MARK: Visits to the lock

  /// One visit, with one or more calls of the machine in it.
  func visit(admitsArrivals: Bool = true, _ change: () -> Void) {
    if admitsArrivals { admitArrivals() }
    change()
    seeToInbox()
    model.visitEnded(machine)
    checkWishes()
    for member in members {
      checkWaits(member, member)
      for part in member.parts { checkWaits(part, member) }
    }
    if machine.isIdle { for wait in idleWaits { wait.isOver = true } }
    performRaises()
  }

  /// One call of the machine, which the model follows.
  @discardableResult
  func call<Answer>(
    _ event: @autoclosure () -> String, _ change: (inout QueueMachine, inout [Action]) -> Answer,
    follow: (inout QueueModel, Answer) -> Void
  ) -> Answer {
    var actions: [Action] = []
    let answer = change(&machine, &actions)
    trace?.append("\(event()): \(answer), \(actions)")
    follow(&model, answer)
    for action in actions { perform(action) }
    return answer
  }

  /// A worker asks for work. It was given what it is told at some moment between the other actions.
  func ask(_ worker: ScriptWorker, isNew: Bool, mayStay: Bool = false) {
    if worker.lingers {
      machine.lingeringEnded()
      (model.workerLingers, worker.lingers) = (false, false)
    }
    var actions: [Action] = []
    let work = machine.workerAsked(isNew: isNew, &actions)
    trace?.append("worker asked, new: \(isNew): \(work), \(actions)")
    if isNew { model.workerIsOrdered = false }
    var rest = actions[...]
    while !(model.permits(work) && model.owed.isEmpty && work != .end), let action = rest.popFirst() {
      perform(action)
    }
    model.follow(work)
    for action in rest { perform(action) }
    guard work == .end, mayStay else { return carryOut(work, by: worker) }
    (worker.member, worker.isIdle) = (nil, true)
  }

  private func perform(_ action: Action) {
    model.follow(action)
    switch action {
    case .addWorker: orderedWorkers += 1
    case .wake(let index): occupant(of: index).map(wake)
    case .interrupt(let index): occupant(of: index)?.worker?.isSpent = true
    case .finish(let index): occupant(of: index)?.phase = .decided
    case .giveBackResources(let index):
      if occupant(of: index)?.claim != .held { model.object("R3: \(index) gives back what it does not hold") }
      if let member = occupant(of: index) { endClaim(of: member) }
    case .claimForFollowers: claimForFollowers(puttingOff: machine.isSuspended)
    }
  }

  /// The tasks of a member look whether what they wait for has come.
  private func wake(_ member: ScriptMember) {
    if member.kind == .helper, member.phase == .inLine { return member.startBody() }
    if member.waits { member.isAwake = true }
    for part in member.parts where part.waits { part.isAwake = true }
  }

  private func checkWaits(_ waiter: some ScriptWaiter, _ member: ScriptMember) {
    guard waiter.waits, !waiter.isAwake, !waiter.mustWait(machine) else { return }
    model.object("\(member.index) was not woken, and waits for what has come")
  }

  /// A task looks, if it has been woken. Says whether it goes on.
  func looks(_ waiter: some ScriptWaiter) -> Bool {
    guard waiter.isAwake else { return false }
    waiter.isAwake = false
    return !waiter.mustWait(machine)
  }

  // MARK: Coming and going

  func nextArrival() -> Int {
    lastArrival += 1
    return lastArrival
  }

  /// Who has a number.
  func occupant(of index: Int32) -> ScriptMember? { Int(index) < seats.count ? seats[Int(index)] : nil }

  func seat(_ member: ScriptMember, at index: Int32) {
    while seats.count <= Int(index) { seats.append(nil) }
    seats[Int(index)] = member
    member.index = index
    members.append(member)
  }

  func unseat(_ member: ScriptMember) {
    if machine.leads(member.index) {
      admitFirstFollower()
      if leadPassedOn(by: member) {
        if !inbox.isEmpty { note(.isPassedOnBeforeArrivals) }
      } else {
        admitArrivals()
        leadEnds()
      }
    }
    endClaim(of: member)
    call("\(member.index) left") {
      $0.left(member.index, &$1)
    } follow: { model, _ in
      model.left(member.index)
    }
    forget(member)
  }

  /// A member has left.
  func forget(_ member: ScriptMember) {
    if member.parts.contains(where: { $0.waits && !$0.isAwake }) {
      model.object("\(member.index) left, and a part waits for ever")
    }
    seats[Int(member.index)] = nil
    members.removeAll { $0 === member }
    member.index = -1
    member.phase = .gone
  }
}
