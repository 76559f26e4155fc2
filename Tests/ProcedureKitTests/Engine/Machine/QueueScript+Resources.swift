@testable import ProcedureKit

/// How claims of resources go: what `QueueState` and the loops of `QueueCore` do, with answers by chance.
extension QueueScript {
  /// A structured run that has a slot takes what it wants to hold, if it wants something.
  func takesResources(_ member: ScriptMember) -> Bool {
    let index = member.index
    guard model[index].resources == .wanted, model[index].phase == .waiting else { return true }
    guard claims(member) else { return false }
    call("\(index) resources taken") { machine, _ in
      machine.resourcesTaken(index)
    } follow: {
      $0.resourcesTaken(index, answer: $1)
    }
    return true
  }

  /// A worker claims for a run, and asks for more where that has to wait.
  func claimResources(for member: ScriptMember, by worker: ScriptWorker) {
    let index = member.index
    if random.chance(percent: 5) {
      call("\(index) claim put off") { machine, _ in
        machine.claimPutOff(index)
      } follow: { model, _ in
        model.claimPutOff(index)
      }
      worker.isPaused = true
      model.pausedWorkers += 1
      return
    }
    guard claims(member) else { return ask(worker, isNew: false, mayStay: random.chance(percent: 50)) }
    let work = call("\(index) resources taken") { machine, _ in
      machine.resourcesTaken(index)
    } follow: {
      $0.resourcesTaken(index, answer: $1)
    }
    carryOut(work, by: worker)
  }

  /// Says whether everything is there at once.
  func claims(_ member: ScriptMember) -> Bool {
    guard member.wish == 0 else { return claimsWish(member) }
    switch random.below(10) {
    case 0..<5:
      member.claim = .held
      return true
    case 5..<9:
      member.claim = .awaited
      waitsForResources(member)
    default: refuse(member)
    }
    return false
  }

  func waitsForResources(_ member: ScriptMember) {
    let index = member.index
    call("\(index) resources awaited") {
      $0.resourcesAwaited(index, &$1)
    } follow: { model, _ in
      model.resourcesAwaited(index)
    }
  }

  func refuse(_ member: ScriptMember) {
    let index = member.index
    call("\(index) resources refused") {
      $0.resourcesRefused(index, &$1)
    } follow: {
      $0.resourcesRefused(index, answer: $1)
    }
  }

  /// Somebody elsewhere has given back what a run waits for, or waits now for the run. It may be decided already.
  func decideClaim(of member: ScriptMember) {
    visit {
      if random.chance(percent: 85) {
        grantClaim(of: member)
        settle()
      } else {
        member.claim = nil
        refuse(member)
      }
    }
  }

  func grantClaim(of member: ScriptMember) {
    let index = member.index
    let isKept = call("\(index) resources granted") {
      $0.resourcesGranted(index, &$1)
    } follow: {
      $0.resourcesGranted(index, answer: $1)
    }
    member.claim = isKept ? .held : nil
  }

  /// Runs of the same queue that come next take over before the one that has ended leaves.
  func endClaim(of member: ScriptMember) {
    guard member.wish == 0 else { return endWish(of: member) }
    guard member.claim.take() == .held else { return }
    for next in members where next.wish == 0 && next.claim == .awaited && random.chance(percent: 40) {
      grantClaim(of: next)
    }
  }
}
