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
  private(set) var isDraining = false
  private var trace: [String]?

  init(seed: UInt64, isTraced: Bool = false) {
    random = SeededRandom(seed: seed)
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

  var story: String { (trace ?? []).joined(separator: "\n") }

  private func step() {
    switch random.below(100) {
    case 0..<12 where members.count < 9: admitFromOutside()
    case 12..<16: cancelSomebody()
    case 16..<21: configure()
    default: advanceSomebody()
    }
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
    var patience = 5_000
    while model.objection == nil, !(members.isEmpty && workers.isEmpty && orderedWorkers == 0 && idleWaits.isEmpty) {
      patience -= 1
      if patience == 0 { model.object("these wait for ever: \(members.map { "\($0.index) \($0.phase)" })") }
      advanceSomebody()
    }
    guard model.objection == nil else { return }
    if machine.slots.taken != 0 { model.object("\(machine.slots.taken) slots have leaked") }
    if !machine.isEmpty || !machine.isIdle || machine.isGated { model.object("Q4: the empty queue is not idle") }
  }

  private func advanceSomebody() {
    var choice = random.below(members.count + workers.count + idleWaits.count + 1)
    if choice < members.count { return advance(members[choice]) }
    choice -= members.count
    if choice < workers.count { return advance(workers[choice]) }
    choice -= workers.count
    if choice < idleWaits.count { return advance(idleWaits[choice]) }
    if orderedWorkers > 0 { startWorker() }
  }

  // MARK: Visits to the lock

  /// One visit, with one or more calls of the machine in it.
  func visit(_ change: () -> Void) {
    change()
    model.visitEnded(machine)
    for member in members {
      checkWaits(member, member)
      for part in member.parts { checkWaits(part, member) }
    }
    guard machine.isIdle else { return }
    for wait in idleWaits { wait.isOver = true }
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
  func ask(_ worker: ScriptWorker, isNew: Bool) {
    var actions: [Action] = []
    let work = machine.workerAsked(isNew: isNew, &actions)
    trace?.append("worker asked, new: \(isNew): \(work), \(actions)")
    if isNew { model.workerIsOrdered = false }
    var rest = actions[...]
    while !(model.permits(work) && model.owed.isEmpty && work != .end), let action = rest.popFirst() { perform(action) }
    model.follow(work)
    for action in rest { perform(action) }
    carryOut(work, by: worker)
  }

  private func perform(_ action: Action) {
    model.follow(action)
    switch action {
    case .addWorker: orderedWorkers += 1
    case .wake(let index): seats[Int(index)].map(wake)
    case .interrupt(let index): seats[Int(index)]?.worker?.isSpent = true
    case .finish(let index): seats[Int(index)]?.phase = .decided
    case .giveBackResources(let index):
      if seats[Int(index)]?.claim != .held { model.object("R3: \(index) gives back what it does not hold") }
      seats[Int(index)]?.claim = nil
    case .claimForFollowers: break
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

  func seat(_ member: ScriptMember, at index: Int32) {
    while seats.count <= Int(index) { seats.append(nil) }
    seats[Int(index)] = member
    member.index = index
    members.append(member)
  }

  func unseat(_ member: ScriptMember) {
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
