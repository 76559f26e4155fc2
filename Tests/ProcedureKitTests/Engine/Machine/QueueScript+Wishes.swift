@testable import ProcedureKit

/// How runs claim what they want alone, what `QueueState` does for that, and others elsewhere who want the same.
extension QueueScript {
  // MARK: Claims

  /// Says whether what is wanted is there at once.
  func claimsWish(_ member: ScriptMember, inTurn turn: ScriptDesk.Turn? = nil) -> Bool {
    let claim = DeskClaim(
      member.wish, for: member, priority: model[member.index].priority,
      arrival: turn == nil ? nextArrival() : member.arrival)
    member.deskClaim = claim
    if place(claim, inTurn: turn) {
      member.claim = .held
      return true
    }
    if random.chance(percent: 3) {
      endWish(of: member)
      refuse(member)
    } else {
      member.claim = .awaited
      waitsForResources(member)
    }
    return false
  }

  private func place(_ claim: DeskClaim, inTurn turn: ScriptDesk.Turn? = nil) -> Bool {
    if desk.place(claim, inTurn: turn) { return true }
    if turn != nil, let holder = desk.holder(of: claim.wish), holder.priority > claim.priority,
      let member = claim.member
    {
      claim.priority = holder.priority
      raises.append((member, holder.priority))
    }
    noteRaised(desk.raiseThoseBefore(claim), to: claim.priority)
    return false
  }

  func noteRaised(_ claims: [DeskClaim], to priority: UInt8) {
    raises += claims.compactMap { claim in claim.member.map { ($0, priority) } }
  }

  /// Gives back what a member holds, or withdraws its claim.
  func endWish(of member: ScriptMember) {
    member.claim = nil
    if let claim = member.deskClaim.take() { hand(desk.end(claim)) }
  }

  /// Somebody has been granted what it waited for. Runs that do not keep it pass it on.
  func hand(_ granted: DeskClaim?) {
    var next = granted
    while let claim = next {
      next = nil
      if members.contains(where: { stands($0, before: claim) }) {
        model.object("R3: what some follow for was granted to one that came after them")
      }
      guard let member = claim.member else { return }
      grantClaim(of: member)
      guard member.claim == nil, member.deskClaim === claim else { return }
      member.deskClaim = nil
      next = desk.end(claim)
    }
  }

  private func stands(_ member: ScriptMember, before claim: DeskClaim) -> Bool {
    member.wish == claim.wish && member.arrival < claim.arrival && machine.follows(member.index)
  }

  /// One that waits for what the holder has, which waits for everybody else to end, would wait for ever.
  func refuseIfHopeless(_ member: ScriptMember) -> Bool {
    guard let holder = desk.holder(of: member.wish)?.member, holder.index >= 0, model[holder.index].idleWaits > 0
    else { return false }
    visit {
      endWish(of: member)
      refuse(member)
    }
    return true
  }

  // MARK: Others

  func claimElsewhere() {
    let claim = DeskClaim(
      random.pick(from: [1, 1, 2]), for: nil, priority: random.pick(from: [9, 17, 17, 25]), arrival: nextArrival())
    outsiders.append(claim)
    _ = place(claim)
    performRaises()
  }

  func endElsewhere(_ claim: DeskClaim) {
    outsiders.removeAll { $0 === claim }
    let next = desk.end(claim)
    guard next?.member != nil else { return }
    visit {
      hand(next)
      settle()
    }
  }

  // MARK: After each visit

  /// Objects where two hold the same, or one executes without what it wants.
  func checkWishes() {
    for member in members where member.wish != 0 {
      let state = model[member.index]
      let holds = member.deskClaim.map { desk.holder(of: member.wish) === $0 } ?? false
      if state.resources == .held, !holds, !member.hasPaused {
        model.object("R1: \(member.index) believes that it holds \(member.wish), and another does, or nobody")
      }
      if state.resources != .held, holds {
        model.object("R3: \(member.index) holds \(member.wish), and has not been told")
      }
      if state.phase == .executing, state.resources != .held {
        model.object("R1: \(member.index) executes, and does not hold \(member.wish)")
      }
    }
  }
}
