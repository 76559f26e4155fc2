@testable import ProcedureKit

/// How runs are raised that others wait for: what `QueueCore+Priority` does.
extension QueueScript {
  func raiseSomebody() {
    let runs = members.filter { $0.kind != .helper }
    guard !runs.isEmpty else { return }
    raises.append((random.pick(from: runs), random.pick(from: [17, 25, 33])))
    performRaises()
  }

  /// One visit for each, outside of those in which they were noticed.
  func performRaises() {
    while let (member, priority) = raises.popLast() {
      if member.index >= 0 { visit { raise(member, to: priority) } }
    }
  }

  private func raise(_ member: ScriptMember, to priority: UInt8) {
    guard raiseOnce(member, to: priority) else { return }
    defer { settle() }
    let index = member.index
    switch model[index].phase {
    case .waiting:
      if machine.follows(index) {
        note(.followerIsRaised)
        if let leader = machine.leader.flatMap(occupant) { raises.append((leader, priority)) }
      }
      if let claim = member.deskClaim, member.claim == .awaited, claim.priority < priority {
        claim.priority = priority
        noteRaised(desk.raiseThoseBefore(claim), to: priority)
      }
    case .executing:
      for part in members where part !== member && part.isPart(of: member) {
        if part.kind == .helper { raiseOnce(part, to: priority) } else { raises.append((part, priority)) }
      }
    case .pending, .evaluating, .decided: break
    }
  }

  @discardableResult
  func raiseOnce(_ member: ScriptMember, to priority: UInt8) -> Bool {
    let index = member.index
    return call("\(index) raised to \(priority)") { machine, _ in
      machine.raised(index, to: priority)
    } follow: {
      $0.raised(index, to: priority, answer: $1)
    }
  }
}
