@testable import ProcedureKit

/// What it means to follow: to have come when nobody else waited for what one holds, and to have that after it, in order.
extension QueueModel {
  // MARK: Who follows

  /// Whether one that comes now stands behind the leader: nobody else is in line, and it is as urgent as those before it.
  func mayFollow(_ wish: UInt64, _ priority: UInt8) -> Bool {
    wish != 0 && wish == followedWish && priority == followedPriority
  }

  var followedWish: UInt64 {
    guard let leader, !isSuspended, !isShutDown else { return 0 }
    let others = members.indices.contains { $0 != leader && members[$0]?.stands(in: .ready) ?? false }
    return others ? 0 : leadersWish
  }

  /// One holds alone what it wants. Those in line may follow it, if that is what all of them want; the machine need not see that.
  mutating func leadStarted(_ index: Int32, wish: UInt64, answer: Bool, _ machine: QueueMachine) {
    let mayLead = (leader == nil || leader == index) && !isSuspended
    if answer != mayLead { object("\(index) may be followed: \(answer)") }
    guard answer else { return }
    if leader == nil { followedPriority = self[index].priority }
    (leader, leadersWish) = (index, wish)
    guard let first = first(in: .ready), machine.follows(first) else { return }
    while let next = self.first(in: .ready) {
      let member = self[next]
      if member.wish != wish || member.resources != .wanted || member.priority != followedPriority
        || !isServedByWorker(next)
      {
        object("\(next) follows, and wants something else, or is of another priority")
      }
      leave(.ready, next)
      stand(next, in: .following)
    }
  }

  // MARK: The end of it

  /// The leader does not go straight to its end: those who follow have to claim what they want.
  mutating func followingEnds(at index: Int32) {
    guard leader == index else { return }
    leader = nil
    if first(in: .following) != nil { owed.append(.claimForFollowers) }
  }

  mutating func nextToClaim(_ answer: Int32?) {
    if leader != nil { object("those claim who follow somebody") }
    if answer != first(in: .following) { object("R3: it is not the turn of \(String(describing: answer)) to claim") }
    if let answer { leave(.following, answer) }
  }

  mutating func leadPassedOn(to next: Int32) {
    checkFollower(next)
    if !hasFreeSlot, let first = first(in: .ready), comes(self[first], before: self[next], in: .following) {
      object("Q1: \(next) would have the slot of which \(first) is in want")
    }
    leave(.following, next)
    leader = next
    self[next].resources = .held
    stand(next, in: .ready)
  }

  mutating func succeededByFollower(_ index: Int32, _ next: Int32) {
    checkFollower(next)
    checkLeaderEnds(index)
    members[Int(index)] = nil
    leave(.following, next)
    leader = next
    self[next].resources = .held
    takeSlot(next)
    self[next].phase = .executing
  }

  /// What comes at this moment would have been the first to follow.
  mutating func succeededByFollowingArrival(_ index: Int32, priority: UInt8, order: UInt64, wish: UInt64) {
    checkLeaderEnds(index)
    if let other = first(in: .following) { object("R3: what comes has what \(other) has followed for") }
    members[Int(index)] = nil
    admitted(index, .detached, priority: priority, order: order, isInherited: false, hasResources: true, wish: wish)
    leave(.ready, index)
    self[index].resources = .held
    takeSlot(index)
    self[index].phase = .executing
  }

  private mutating func checkFollower(_ next: Int32) {
    if isSuspended { object("Q2: \(next) has its turn on a suspended queue") }
    if first(in: .following) != next { object("R3: \(next) has its turn before others that follow") }
  }

  private mutating func checkLeaderEnds(_ index: Int32) {
    let member = self[index]
    if leader != index { object("R1: \(index) is followed by nobody") }
    if !member.holdsSlot || member.phase != .executing || member.isListed { object("\(index) has no slot to pass on") }
    if isSuspended || taken > width { object("Q1, Q2: who follows would have to wait") }
    if members.contains(where: { $0.map { $0.idleWaits > 0 } ?? false }) { object("Q4: somebody waits for this end") }
    for line in [Line.ready, .returning, .evaluations] {
      if let other = first(in: line) { object("Q1: who follows starts before \(other)") }
    }
  }

  // MARK: After each visit

  /// Objects where somebody follows nobody, or one that may not come to its end before it, and where the machine believes
  /// something else.
  mutating func compareFollowing(_ machine: QueueMachine) {
    if machine.leader != leader { object("\(String(describing: leader)) leads") }
    if machine.firstFollower != first(in: .following) {
      object("R3: \(String(describing: first(in: .following))) is the first to follow")
    }
    if machine.followedWish != followedWish { object("\(followedWish) is followed for") }
    if leader != nil, machine.followedPriority != followedPriority { object("those of \(followedPriority) follow") }
    for index in members.indices.map(Int32.init) where members[Int(index)] != nil {
      if machine.follows(index) != self[index].stands(in: .following) {
        object("\(index) follows: \(self[index].places)")
      }
      if self[index].stands(in: .following) { checkStanding(index) }
    }
    if let leader { checkLeader(leader) }
  }

  private mutating func checkStanding(_ index: Int32) {
    let member = self[index]
    if leader == nil { object("R3: \(index) follows nobody, and waits for ever") }
    if member.wish != leadersWish { object("\(index) follows one that holds something else") }
    if !isServedByWorker(index) || member.resources != .wanted || member.holdsSlot || member.stands(in: .ready) {
      object("\(index) follows, as \(member)")
    }
  }

  private mutating func checkLeader(_ index: Int32) {
    guard Int(index) < members.count, let member = members[Int(index)] else {
      return object("\(index) leads, and has left")
    }
    if member.kind != .detached || member.resources != .held { object("R1: \(index) leads, and holds nothing") }
    let goesOn =
      switch member.phase {
      case .waiting: member.stands(in: .ready) && !isSuspended
      case .executing: member.holdsSlot && member.loans == 0 && member.pauses == 0 && !member.isListed
      case .decided: true
      case .pending, .evaluating: false
      }
    if !goesOn { object("R3: \(index) leads, and others may have to come to their ends before it") }
  }
}
