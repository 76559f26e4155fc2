@testable import ProcedureKit

/// What each event means, one by one, and what has to follow from it.
extension QueueModel {
  mutating func admitted(
    _ index: Int32, _ kind: QueueMachine.Kind, priority: UInt8, order: UInt64, isInherited: Bool,
    hasDependencies: Bool = false, hasConditions: Bool = false, hasResources: Bool = false, claimsAtOnce: Bool = false,
    wish: UInt64 = 0
  ) {
    while members.count <= Int(index) { members.append(nil) }
    if members[Int(index)] != nil { object("the number \(index) was given away twice") }
    members[Int(index)] = Member(
      kind: kind, priority: priority, order: order, hasConditions: hasConditions, wish: wish)
    if hasResources { self[index].resources = .wanted }
    noteOrder(of: index, isInherited: isInherited)
    if hasDependencies { self[index].phase = .pending } else { evaluate(index) }
    if claimsAtOnce, mayClaimAtOnce(index) {
      leave(.ready, index)
      takeSlot(index)
    }
  }

  private mutating func evaluate(_ index: Int32) {
    self[index].phase = .evaluating
    if !self[index].hasConditions {
      claim(index)
    } else if self[index].kind == .detached {
      stand(index, in: .evaluations)
    }
  }

  mutating func evaluationStarted(_ index: Int32, answer: Bool) {
    if answer == isSuspended { object("Q2: \(index) starts to evaluate: \(answer)") }
    if isSuspended, !self[index].stands(in: .evaluations) { stand(index, in: .evaluations) }
  }

  /// Who waits itself takes a free slot at once unless somebody comes before; everybody else stands in line.
  private mutating func claim(_ index: Int32) {
    self[index].phase = .waiting
    let canTake = !isSuspended && hasFreeSlot && first(in: .returning) == nil && !isOvertaken(index)
    if canTake, self[index].kind != .detached { takeSlot(index) } else { stand(index, in: .ready) }
  }

  mutating func dependenciesSettled(_ index: Int32, isSatisfied: Bool) {
    guard self[index].phase == .pending else { return }
    if isSatisfied { evaluate(index) } else { decide(index) }
  }

  mutating func conditionsSettled(_ index: Int32, isSatisfied: Bool) {
    guard self[index].phase == .evaluating else { return }
    if isSatisfied { claim(index) } else { decide(index) }
  }

  /// A detached run has no task that would notice.
  private mutating func decide(_ index: Int32) {
    self[index].phase = .decided
    if self[index].kind == .detached { owed.append(.finish(index)) }
  }

  mutating func bodyStarted(_ index: Int32, answer: Bool) {
    let member = self[index]
    if answer != (member.phase == .waiting) { object("C2: the body of \(index) starts: \(answer), as \(member.phase)") }
    guard answer else { return }
    if !member.holdsSlot { object("Q1: \(index) started without a slot") }
    if isSuspended { object("Q2: \(index) started on a suspended queue") }
    if taken > width { object("Q1: \(index) started on a queue that has become narrower") }
    self[index].phase = .executing
  }

  mutating func bodyEnded(_ index: Int32) {
    self[index].phase = .decided
  }

  mutating func cancelRequested(_ index: Int32) {
    let member = self[index]
    guard member.phase != .decided, !member.isCancelled else { return }
    self[index].isCancelled = true
    if member.phase == .executing { return owed.append(.interrupt(index)) }
    for line in Line.allCases { leave(line, index) }
    if member.kind == .structured {
      owed.append(member.isListed || member.resources == .awaited ? .wake(index) : .interrupt(index))
    }
    if member.kind == .detached, member.phase == .evaluating, !member.isListed { owed.append(.interrupt(index)) }
    decide(index)
  }

  /// Whoever goes on inside a body that has ended must not wait for ever.
  mutating func left(_ index: Int32) {
    if self[index].isListed { owed.append(.wake(index)) }
    members[Int(index)] = nil
  }

  /// A part of the body awaits: others that wait for the slot go on without it, unless the queue is suspended.
  mutating func loanStarted(_ index: Int32) {
    followingEnds(at: index)
    for line in [Line.ready, .returning] where self[index].stands(in: line) && !(line == .ready && isSuspended) {
      leave(line, index)
      owed.append(.wake(index))
    }
    self[index].loans += 1
    self[index].holdsSlot = false
  }

  mutating func loanEnded(_ index: Int32, answer: Bool) {
    self[index].loans -= 1
    var mayGoOn = true
    if self[index].loans == 0 {
      mayGoOn = hasFreeSlot && first(in: .returning) == nil
      if mayGoOn { takeSlot(index) } else { stand(index, in: .returning) }
    }
    if answer != mayGoOn { object("Q3: \(index) goes on: \(answer)") }
  }

  mutating func pieceStarted(_ index: Int32, answer: Bool) {
    let member = self[index]
    let mustWait =
      isSuspended || member.stands(in: .ready)
      || (member.holdsSlot && (taken > width || first(in: .returning) != nil || isOvertaken(index)))
    if answer == mustWait { object("Q1, Q2: \(index) starts its next piece: \(answer)") }
    guard mustWait else { return }
    let stoodInLine = member.stands(in: .ready)
    if !stoodInLine { followingEnds(at: index) }
    self[index].holdsSlot = false
    guard !stoodInLine else { return }
    if isSuspended { giveBackResources(index) }
    stand(index, in: .ready)
  }

  /// What goes on after a part that stood in line waits for the slot, and not for its turn.
  mutating func partStopped(_ index: Int32, answer: Bool) {
    let member = self[index]
    var mayGoOn = !member.stands(in: .returning)
    if mayGoOn, member.stands(in: .ready), !member.holdsSlot, member.loans == 0 {
      mayGoOn = hasFreeSlot && first(in: .returning) == nil
      if mayGoOn {
        takeSlot(index)
        if !isSuspended {
          leave(.ready, index)
          owed.append(.wake(index))
        }
      } else {
        stand(index, in: .returning)
      }
    }
    if answer != mayGoOn { object("Q1: \(index) goes on after a part: \(answer)") }
  }

  /// One of two copies has ended: while the other stands in line, it has no use for the slot.
  mutating func copyEnded(_ index: Int32) {
    if self[index].stands(in: .ready) { self[index].holdsSlot = false }
  }

  mutating func pauseStarted(_ index: Int32) {
    followingEnds(at: index)
    self[index].pauses += 1
  }

  /// Wherever it stands, it stands there anew, with the higher priority.
  mutating func raised(_ index: Int32, to priority: UInt8, answer: Bool) {
    let isHigher = priority > self[index].priority
    if answer != isHigher { object("Q7: \(index) is raised to \(priority): \(answer)") }
    guard isHigher else { return }
    self[index].priority = priority
    for line in [Line.ready, .evaluations, .following] where self[index].stands(in: line) { stand(index, in: line) }
  }

  mutating func idleWaitStarted(_ index: Int32) { self[index].idleWaits += 1 }

  mutating func idleWaitEnded(_ index: Int32) { self[index].idleWaits -= 1 }

  /// Who evaluates itself may, and who only waited for this, having a slot or having lent it, goes on.
  mutating func resumed() {
    guard isSuspended else { return }
    isSuspended = false
    for index in members.indices.map(Int32.init) where members[Int(index)] != nil {
      let member = self[index]
      if member.kind == .structured, member.stands(in: .evaluations) {
        leave(.evaluations, index)
        owed.append(.wake(index))
      }
      if member.stands(in: .ready), member.holdsSlot || member.loans > 0 {
        leave(.ready, index)
        owed.append(.wake(index))
      }
    }
  }
}
