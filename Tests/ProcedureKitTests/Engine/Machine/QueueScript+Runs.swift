@testable import ProcedureKit

/// How runs come, are worked on and end: what `QueueCore+Detached`, `QueueCore+Workers` and `QueueCore+Structured` do.
extension QueueScript {
  func admitFromOutside() {
    if random.chance(percent: excludes ? isUniform ? 2 : 10 : 30) { return admitStructured(from: nil) }
    let member = newcomer(.detached, from: nil)
    let (hasDependencies, hasConditions) = (
      random.chance(percent: excludes ? 4 : 20), random.chance(percent: excludes ? 4 : 25)
    )
    member.isBare = !hasConditions
    let comesAtOnce = !hasDependencies && !hasConditions && random.chance(percent: excludes ? 90 : 50)
    if comesAtOnce, comesByInbox(member) { return }
    visit {
      if comesAtOnce, admitAtOnce(member) { return }
      guard !model.isShutDown else { return }
      admit(member, hasDependencies: hasDependencies, hasConditions: hasConditions)
      if machine.members[Int(member.index)].holdsSlot { claimAtOnce(member) }
    }
  }

  /// A run, or a graph's worker, that is about to come. What comes out of a body wants nothing alone, since that may hold it.
  func newcomer(_ kind: QueueMachine.Kind, from part: ScriptPart?) -> ScriptMember {
    let member = ScriptMember(kind, parent: part?.member, lender: part)
    member.arrival = nextArrival()
    guard kind != .helper else { return member }
    member.ownPriority =
      isUniform && random.chance(percent: 92)
      ? usualPriority : random.pick(from: excludes ? [9, 17, 17, 17, 17, 17, 17, 17, 25] : [9, 17, 17, 17, 25])
    member.wantsResources = random.chance(percent: 40)
    guard part == nil, random.chance(percent: excludes ? isUniform ? 97 : 85 : 10) else { return member }
    (member.wantsResources, member.wish) = (true, isUniform ? 1 : random.pick(from: [1, 1, 1, 1, 2]))
    return member
  }

  func admit(
    _ member: ScriptMember, inheriting body: ScriptMember? = nil, hasDependencies: Bool = false,
    hasConditions: Bool = false
  ) {
    let priority = max(member.ownPriority, body.map { model[$0.index].priority } ?? 0)
    let order = body.map { model[$0.index].order }
    let hasResources = member.wantsResources
    let index = call(
      "\(member.kind) admitted, deps: \(hasDependencies), conditions: \(hasConditions), resources: \(hasResources)"
    ) {
      machine, actions in
      machine.admitted(
        member.kind, priority: priority, inheriting: order, hasDependencies: hasDependencies,
        hasConditions: hasConditions, hasResources: hasResources, claimsAtOnce: member.kind == .detached, &actions)
    } follow: { model, index in
      let given = machine.members[Int(index)]
      if let order, given.order != order { model.object("Q1: \(index) has not inherited the order") }
      if given.priority != priority { model.object("Q1: \(index) has another priority") }
      model.admitted(
        index, member.kind, priority: priority, order: given.order, isInherited: order != nil,
        hasDependencies: hasDependencies, hasConditions: hasConditions, hasResources: hasResources,
        claimsAtOnce: member.kind == .detached, wish: member.wish)
    }
    seat(member, at: index)
    if member.kind != .structured {
      member.phase = hasDependencies ? .pending : .inLine
    } else {
      member.phase = hasConditions ? .awaitsEvaluation : .awaitsSlot
      // Its task looks before it waits.
      member.isAwake = true
    }
  }

  /// The caller of `run` comes; out of a body with that body's place, and its slot.
  func admitStructured(from part: ScriptPart?) {
    guard part != nil || !model.isShutDown else { return }
    let member = newcomer(.structured, from: part)
    visit {
      admit(member, inheriting: part?.member, hasConditions: random.chance(percent: 25))
      if let part { startLoan(part, .awaitsChild) }
      if member.phase == .awaitsSlot, random.chance(percent: 90) { startBody(of: member) }
    }
  }

  /// The task of a structured run starts the body if there is a slot and the queue still lets it.
  private func startBody(of member: ScriptMember) {
    let index = member.index
    guard model[index].holdsSlot else { return }
    let mayStart = call("\(index) piece started") {
      $0.pieceStarted(index, &$1)
    } follow: {
      $0.pieceStarted(index, answer: $1)
    }
    guard mayStart, takesResources(member) else { return }
    let starts = call("\(index) body started") { machine, _ in
      machine.bodyStarted(index)
    } follow: {
      $0.bodyStarted(index, answer: $1)
    }
    if starts { member.startBody() }
  }

  func advance(_ member: ScriptMember) {
    let index = member.index
    if member.claim == .awaited {
      guard member.wish != 0 else { return decideClaim(of: member) }
      if refuseIfHopeless(member) { return }
    }
    switch member.phase {
    case .pending:
      let isSatisfied = random.chance(percent: 75)
      member.phase = .inLine
      visit {
        call("\(index) dependencies settled: \(isSatisfied)") {
          $0.dependenciesSettled(index, isSatisfied ? .satisfied : .unsatisfied, &$1)
        } follow: { model, _ in
          model.dependenciesSettled(index, isSatisfied: isSatisfied)
        }
      }
    case .inLine: if member.kind == .helper, random.chance(percent: 10) { withdraw(member) }
    case .evaluating: if member.kind == .structured { judge(member) }
    case .awaitsEvaluation: if looks(member) { startEvaluation(of: member) }
    case .awaitsSlot:
      guard looks(member) else { break }
      guard model[index].phase == .waiting else { return visit { leave(member) } }
      visit { startBody(of: member) }
      if member.phase == .awaitsSlot { member.isAwake = true }
    case .executing: advanceBody(of: member)
    case .decided: visit { leave(member) }
    case .gone: break
    }
  }

  private func startEvaluation(of member: ScriptMember) {
    let index = member.index
    guard model[index].phase == .evaluating else { return visit { leave(member) } }
    visit {
      let starts = call("\(index) evaluation started") { machine, _ in
        machine.evaluationStarted(index)
      } follow: {
        $0.evaluationStarted(index, answer: $1)
      }
      if starts { member.phase = .evaluating } else { member.isAwake = !member.mustWait(machine) }
    }
  }

  func settleConditions(of member: ScriptMember) -> Bool {
    let (index, isSatisfied) = (member.index, random.chance(percent: 75))
    call("\(index) conditions settled: \(isSatisfied)") {
      $0.conditionsSettled(index, isSatisfied ? .satisfied : .unsatisfied, &$1)
    } follow: { model, _ in
      model.conditionsSettled(index, isSatisfied: isSatisfied)
    }
    return isSatisfied
  }

  /// The task of a structured run has evaluated its conditions, unless a cancel came first.
  private func judge(_ member: ScriptMember) {
    var goesOn = false
    visit { if model[member.index].phase == .evaluating { goesOn = settleConditions(of: member) } }
    guard goesOn else { return visit { leave(member) } }
    member.phase = .awaitsSlot
    member.isAwake = true
  }

  /// A run leaves, and who lent it a slot wants that back. A worker may ask for more in the same visit.
  func leave(_ member: ScriptMember) {
    unseat(member)
    if let lender = member.lender, member.kind == .structured { endLoan(lender) }
    settle()
  }

  func settle() {
    call("settled") {
      $0.settled(&$1)
    } follow: { _, _ in
    }
  }
}
