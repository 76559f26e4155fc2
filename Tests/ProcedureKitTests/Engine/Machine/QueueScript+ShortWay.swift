@testable import ProcedureKit

/// How runs come in one step, and how a worker goes straight on with who would have the slot next: what `QueueCore.admitAtOnce`
/// and `QueueCore.exchange` do.
extension QueueScript {
  /// Says whether a detached run comes in one step; not, if it would have to claim at once.
  func admitAtOnce(_ member: ScriptMember) -> Bool {
    addAtOnce(member, wish: wishToFollow(member), claimsAtOnce: true)
  }

  func addAtOnce(_ member: ScriptMember, wish: UInt64, claimsAtOnce: Bool) -> Bool {
    let (priority, hasResources) = (member.ownPriority, member.wantsResources)
    let follows = model.mayFollow(wish, priority)
    let added = call("added at once, resources: \(hasResources), wish: \(wish)") { machine, _ in
      machine.addedAtOnce(priority: priority, wantsResources: hasResources, wish: wish, claimsAtOnce: claimsAtOnce)
    } follow: { model, added in
      guard let (index, needsWorker) = added else {
        return model.notAddedAtOnce(
          priority: priority, hasResources: hasResources, claimsAtOnce: claimsAtOnce, follows: follows)
      }
      model.admitted(
        index, .detached, priority: priority, order: machine.members[Int(index)].order, isInherited: false,
        hasResources: hasResources, wish: member.wish)
      model.addedAtOnce(index, needsWorker: needsWorker, claimsAtOnce: claimsAtOnce, follows: follows)
    }
    guard let (index, needsWorker) = added else { return false }
    seat(member, at: index)
    member.phase = .inLine
    if follows, claimsAtOnce { note(.follows) }
    if needsWorker { orderedWorkers += 1 }
    return true
  }

  /// A run that has just come claims what it wants, before a worker is made for it.
  func claimAtOnce(_ member: ScriptMember) {
    guard claims(member) else { return }
    holdsAtOnce(member)
    leadStarts(member)
  }

  func holdsAtOnce(_ member: ScriptMember) {
    let index = member.index
    call("\(index) holds at once what it wants") {
      $0.resourcesHeldAtOnce(index, wish: member.wish, &$1)
    } follow: { model, _ in
      model.resourcesHeldAtOnce(index)
    }
  }

  /// Says whether it does; if not, the run ends the long way.
  func exchange(_ member: ScriptMember, for worker: ScriptWorker) -> Bool {
    guard !member.isCancelled, !worker.isSpent else { return false }
    let index = member.index
    if member.wantsResources, succeedByFollower(member, for: worker) { return true }
    if machine.leads(index) {
      admitFirstFollower()
      guard machine.firstFollower == nil else { return false }
      endFollowing()
    }
    endClaim(of: member)
    if inboxTerms == nil, machine.mayBeSucceededByArrival(index), !isDraining, random.chance(percent: 30) {
      succeedByArrival(member, for: worker)
      return true
    }
    guard let successor = machine.successor(of: index), let next = occupant(of: successor),
      claimsInPassing(next)
    else { return false }
    call("\(index) succeeded by \(successor)") {
      $0.succeeded(index, by: successor, &$1)
    } follow: { model, _ in
      model.succeeded(index, by: successor)
    }
    forget(member)
    leadStarts(next)
    proceed(worker, with: next)
    return true
  }

  /// A worker goes straight on with what comes at this moment.
  private func succeedByArrival(_ member: ScriptMember, for worker: ScriptWorker) {
    let (index, priority) = (member.index, random.pick(from: [9, 17, 17, 17, 25] as [UInt8]))
    call("\(index) succeeded by what comes") { machine, _ in
      machine.succeededByArrival(index, priority: priority)
    } follow: { model, _ in
      model.succeededByArrival(index, priority: priority, order: machine.members[Int(index)].order)
    }
    forget(member)
    let next = newcomer(.detached, from: nil)
    (next.wantsResources, next.wish, next.ownPriority) = (false, 0, priority)
    seat(next, at: index)
    proceed(worker, with: next)
  }

  /// Says whether a successor holds all that it wants.
  private func claimsInPassing(_ next: ScriptMember) -> Bool {
    let index = next.index
    let claims = call("\(index) claims before it has the slot") { machine, _ in
      machine.successorClaims(index)
    } follow: {
      $0.successorClaims(index, answer: $1)
    }
    guard claims else { return true }
    guard self.claims(next) else { return false }
    call("\(index) holds what it wants") { machine, _ in
      machine.resourcesHeldBySuccessor(index)
    } follow: { model, _ in
      model[index].resources = .held
    }
    return true
  }
}
