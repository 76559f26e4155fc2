@testable import ProcedureKit

/// How runs come in one step, and what it means that a worker goes straight on with another in the slot of one that ended.
extension QueueModel {
  /// Whether one that has just come, and wants resources, would have the next free slot.
  func mayClaimAtOnce(_ index: Int32) -> Bool {
    self[index].resources == .wanted && self[index].phase == .waiting && !isSuspended && hasFreeSlot
      && first(in: .returning) == nil && first(in: .evaluations) == nil && first(in: .ready) == index
  }

  mutating func addedAtOnce(_ index: Int32, needsWorker: Bool, claimsAtOnce: Bool, follows: Bool) {
    if isShutDown { object("Q5: \(index) came after the queue had been shut down") }
    if follows {
      leave(.ready, index)
      stand(index, in: .following)
    } else if claimsAtOnce, mayClaimAtOnce(index) {
      object("\(index) stands in line although it may claim")
    }
    guard needsWorker else { return }
    if workerIsOrdered { object("a second worker was ordered") }
    if workerLingers { object("a worker was ordered while one lingers") }
    if isSuspended || !hasFreeSlot { object("Q1, Q2: a worker was ordered, and has nothing to do") }
    workerIsOrdered = true
  }

  /// A run does not come in one step that would have to claim at once.
  mutating func notAddedAtOnce(priority: UInt8, hasResources: Bool, claimsAtOnce: Bool, follows: Bool) {
    guard !isShutDown else { return }
    let mayClaim =
      !isSuspended && hasFreeSlot && first(in: .returning) == nil && first(in: .evaluations) == nil
      && first(in: .ready).map { self[$0].rank < priority } ?? true
    if follows || !hasResources || !claimsAtOnce || !mayClaim { object("what could have come has not") }
  }

  mutating func resourcesHeldAtOnce(_ index: Int32) {
    self[index].resources = .held
    self[index].holdsSlot = false
    stand(index, in: .ready)
  }

  mutating func successorClaims(_ index: Int32, answer: Bool) {
    checkSuccessor(index)
    if first(in: .ready) != index { object("Q1: \(index) comes next out of order") }
    if answer != (self[index].resources == .wanted) { object("R2: \(index) claims: \(answer)") }
    if answer { leave(.ready, index) }
  }

  mutating func succeeded(_ index: Int32, by next: Int32) {
    checkSuccessor(next)
    let member = self[index]
    if !member.holdsSlot || member.phase != .executing || member.isListed { object("\(index) has no slot to pass on") }
    members[Int(index)] = nil
    leave(.ready, next)
    takeSlot(next)
    self[next].phase = .executing
  }

  /// What comes at this moment would stand in line alone, and have the slot that is given back.
  mutating func succeededByArrival(_ index: Int32, priority: UInt8, order: UInt64) {
    let member = self[index]
    if !member.holdsSlot || member.phase != .executing || member.isListed { object("\(index) has no slot to pass on") }
    if isSuspended || taken > width { object("Q1, Q2: what comes starts, and would have to wait") }
    if members.contains(where: { $0.map { $0.idleWaits > 0 } ?? false }) { object("Q4: somebody waits for this end") }
    members[Int(index)] = nil
    for line in Line.allCases where line != .following {
      if let other = first(in: line) { object("Q1: what comes starts before \(other)") }
    }
    admitted(index, .detached, priority: priority, order: order, isInherited: false)
    leave(.ready, index)
    takeSlot(index)
    self[index].phase = .executing
  }

  private mutating func checkSuccessor(_ index: Int32) {
    if isSuspended { object("Q2: \(index) comes next on a suspended queue") }
    if !isServedByWorker(index) { object("\(index) comes next, and has a task of its own or is decided") }
    if taken > width { object("Q1: \(index) comes next on a queue that has become narrower") }
    if let other = first(in: .returning) ?? first(in: .evaluations) { object("\(index) comes next, before \(other)") }
  }
}
