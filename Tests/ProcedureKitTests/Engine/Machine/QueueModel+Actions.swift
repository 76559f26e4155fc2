@testable import ProcedureKit

/// Which actions are possible, and what each of them means.
extension QueueModel {
  mutating func follow(_ action: Action) {
    if let place = owed.firstIndex(of: action) {
      owed.remove(at: place)
      // Among those of the same order it stands last now.
      if case .giveBackResources(let index) = action { stand(index, in: .ready) }
      return
    }
    switch action {
    case .wake(let index): grant(index)
    case .addWorker(let priority): orderWorker(priority)
    case .interrupt(let index): object("\(index) was interrupted for nothing")
    case .finish(let index): object("L1: \(index) was finished for nothing, or twice")
    case .giveBackResources(let index): object("\(index) gives back what it does not hold")
    case .claimForFollowers: object("those claim who follow for nothing, or nobody follows")
    }
  }

  /// A member is woken because there is a slot for it.
  private mutating func grant(_ index: Int32) {
    if self[index].stands(in: .returning) {
      if first(in: .returning) != index { object("Q3: \(index) came back before others that had lent their slots") }
      leave(.returning, index)
      if !isSuspended, self[index].stands(in: .ready) {
        leave(.ready, index)
        owed.append(.wake(index))
      }
    } else if self[index].stands(in: .ready) {
      if isSuspended { object("Q2: \(index) was given a slot on a suspended queue") }
      if first(in: .returning) != nil { object("Q3: \(index) was given a slot before one that had lent its own") }
      if first(in: .ready) != index { object("Q1: \(index) was given a slot out of order") }
      if isServedByWorker(index) { object("\(index) was woken, and has no task") }
      leave(.ready, index)
    } else {
      object("\(index) was woken and does not wait")
    }
    takeSlot(index)
  }

  private mutating func orderWorker(_ priority: UInt8) {
    if workerIsOrdered { object("a second worker was ordered") }
    if workerLingers { object("a worker was ordered while one lingers") }
    if isSuspended { object("Q2: a worker was ordered on a suspended queue") }
    let next = first(in: .evaluations) ?? (hasFreeSlot ? first(in: .ready) : nil)
    if next.map({ self[$0].priority }) != priority { object("a worker was ordered with priority \(priority)") }
    workerIsOrdered = true
  }

  // MARK: Workers

  /// Whether a worker may do this now.
  func permits(_ work: QueueMachine.Work) -> Bool {
    let evaluation = isSuspended ? nil : first(in: .evaluations)
    switch work {
    case .evaluate(let index): return evaluation == index
    case .conclude: return false
    case .claim(let index), .execute(let index):
      return evaluation == nil && !isSuspended && hasFreeSlot && first(in: .returning) == nil
        && first(in: .ready) == index && isServedByWorker(index)
        && (work == .claim(index)) == (self[index].resources == .wanted)
    case .end:
      guard evaluation == nil, !isSuspended, hasFreeSlot, let first = first(in: .ready) else {
        return evaluation == nil
      }
      return !isServedByWorker(first)
    }
  }

  mutating func follow(_ work: QueueMachine.Work) {
    if !permits(work) { object("Q1, Q2: a worker was told to \(work)") }
    switch work {
    case .evaluate(let index): leave(.evaluations, index)
    case .claim(let index):
      leave(.ready, index)
      takeSlot(index)
    case .conclude: break
    case .execute(let index):
      leave(.ready, index)
      takeSlot(index)
      self[index].phase = .executing
    case .end: break
    }
  }

  mutating func lingeringStarted(answer lingers: Bool) {
    guard lingers else {
      if !workerLingers, permits(.end), first(in: .ready) == nil { object("a worker does not linger, nor another") }
      return
    }
    if workerLingers { object("a second worker lingers") }
    if !permits(.end) { object("a worker lingers although there is something to do") }
    workerLingers = true
  }

  // MARK: After each visit

  /// Objects where something is free and somebody waits for it, and where the machine believes something else.
  mutating func visitEnded(_ machine: QueueMachine) {
    if let action = owed.first { object("it takes more: \(action)") }
    if hasFreeSlot, pausedWorkers == 0, let index = first(in: .returning) {
      object("Q3: a slot is free, and \(index) wants its own back")
    }
    if !isSuspended {
      if hasFreeSlot, pausedWorkers == 0, let index = first(in: .ready),
        !((workerIsOrdered || workerLingers) && isServedByWorker(index))
      {
        object("a slot is free, and nobody comes for \(index)")
      }
      if let index = first(in: .evaluations), !workerIsOrdered, !workerLingers { object("nobody evaluates \(index)") }
    }
    compare(machine)
    compareFollowing(machine)
  }

  private mutating func compare(_ machine: QueueMachine) {
    if machine.slots.taken != taken { object("\(taken) slots are taken, \(machine.slots.taken) for the machine") }
    if machine.slots.width != width { object("the width is \(width)") }
    if machine.isSuspended != isSuspended { object("suspended: \(isSuspended)") }
    if machine.workerIsStarting != workerIsOrdered { object("worker ordered: \(workerIsOrdered)") }
    if machine.workerLingers != workerLingers { object("one lingers: \(workerLingers)") }
    var (runs, waitingRuns) = (0, 0)
    for index in machine.members.indices {
      let member = index < members.count ? members[index] : nil
      if machine.members[index].isPresent != (member != nil) { object("\(index) is present: \(member != nil)") }
      guard let member else { continue }
      compare(member, machine, Int32(index))
      guard member.kind != .helper else { continue }
      runs += 1
      if member.idleWaits > 0 { waitingRuns += 1 }
    }
    if machine.isEmpty != (runs == 0) { object("Q4: \(runs) runs are left") }
    if machine.isIdle != (runs == waitingRuns) { object("Q4: \(runs) are left, \(waitingRuns) of which wait for idle") }
    let isGated = isSuspended || taken > width || first(in: .ready) != nil || first(in: .returning) != nil
    if machine.isGated != isGated { object("gated: \(machine.isGated)") }
  }

  private mutating func compare(_ member: Member, _ machine: QueueMachine, _ index: Int32) {
    let other = machine.members[Int(index)]
    // A helper has no body of its own, and waits as far as its lifecycle knows.
    if other.lifecycle.state != member.state { object("\(index) is \(member.state)") }
    if other.priority != member.priority { object("\(index) has the priority \(member.priority)") }
    if other.holdsSlot != member.holdsSlot { object("\(index) holds a slot: \(member.holdsSlot)") }
    if other.resources != member.resources { object("\(index) has its resources \(member.resources)") }
    if isSuspended, member.resources == .held, member.phase == .waiting, !member.holdsSlot {
      object("R2: \(index) holds on a suspended queue what it does not use")
    }
    if other.loans != member.loans { object("\(index) has \(member.loans) loans") }
    if machine.isInLine(index) != member.stands(in: .ready) { object("\(index) is ready: \(member.places)") }
    if machine.isReturning(index) != member.stands(in: .returning) { object("\(index) returns: \(member.places)") }
    if machine.isListed(index) != member.isListed { object("\(index) is listed: \(member.places)") }
    if member.holdsSlot, member.loans > 0 { object("Q3: \(index) holds the slot that it has lent") }
    if !isSuspended, member.stands(in: .ready), member.holdsSlot || member.loans > 0 {
      object("\(index) stands in line for a slot that it holds or has lent")
    }
  }
}
