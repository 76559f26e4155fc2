@testable import ProcedureKit

/// What claims mean for the queue: whoever has to wait for resources gives the slot back, and who has them comes first.
extension QueueModel {
  mutating func resourcesTaken(_ index: Int32, answer: QueueMachine.Work) {
    if !self[index].holdsSlot || self[index].phase != .waiting { object("R2: \(index) claimed without a slot") }
    self[index].resources = .held
    let isDetached = self[index].kind == .detached
    if isDetached { self[index].phase = .executing }
    if answer != (isDetached ? .execute(index) : .end) { object("\(index) holds what it wants, and is to \(answer)") }
  }

  mutating func claimPutOff(_ index: Int32) {
    self[index].holdsSlot = false
    stand(index, in: .ready)
  }

  mutating func resourcesAwaited(_ index: Int32) {
    self[index].resources = .awaited
    self[index].holdsSlot = false
  }

  mutating func resourcesGranted(_ index: Int32, answer: Bool) {
    let member = self[index]
    let waits = member.phase == .waiting && member.resources == .awaited
    if answer != (waits && !isSuspended) { object("R3: \(index) keeps what it was granted: \(answer)") }
    guard waits else { return }
    self[index].resources = isSuspended ? .wanted : .held
    if answer, member.kind != .detached, hasFreeSlot, first(in: .returning) == nil, !isOvertaken(index) {
      takeSlot(index)
      owed.append(.wake(index))
    } else {
      stand(index, in: .ready)
    }
  }

  mutating func resourcesRefused(_ index: Int32, answer: Bool) {
    if answer != (self[index].phase == .waiting) { object("R4: a refusal decides \(index): \(answer)") }
    guard answer else { return }
    self[index].phase = .decided
    self[index].holdsSlot = false
    owed.append(self[index].kind == .detached ? .finish(index) : .wake(index))
  }

  /// What is held and not used is given back where the queue is suspended.
  mutating func giveBackResources(_ index: Int32) {
    guard self[index].resources == .held, self[index].phase == .waiting else { return }
    self[index].resources = .wanted
    owed.append(.giveBackResources(index))
  }

  mutating func suspended() {
    isSuspended = true
    for index in members.indices.map(Int32.init) {
      guard let member = members[Int(index)], member.stands(in: .ready) else { continue }
      if member.resources == .held, member.phase == .waiting { followingEnds(at: index) }
      giveBackResources(index)
    }
  }
}
