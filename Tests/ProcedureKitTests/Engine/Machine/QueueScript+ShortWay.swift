@testable import ProcedureKit

/// How runs come in one step, and how a worker goes straight on with who would have the slot next: what `QueueCore.admitAtOnce`
/// and `QueueCore.exchange` do.
extension QueueScript {
  /// Says whether a detached run comes in one step; not, if it would have to claim at once.
  func admitAtOnce(_ member: ScriptMember) -> Bool {
    let (priority, hasResources) = (random.pick(from: [9, 17, 17, 17, 25] as [UInt8]), random.chance(percent: 50))
    let added = call("added at once, resources: \(hasResources)") { machine, _ in
      machine.addedAtOnce(priority: priority, wantsResources: hasResources)
    } follow: { model, added in
      guard let (index, needsWorker) = added else { return }
      model.admitted(
        index, .detached, priority: priority, order: machine.members[Int(index)].order, isInherited: false,
        hasResources: hasResources)
      model.addedAtOnce(index, needsWorker: needsWorker)
    }
    guard let (index, needsWorker) = added else { return false }
    seat(member, at: index)
    member.phase = .inLine
    if needsWorker { orderedWorkers += 1 }
    return true
  }

  /// A run that has just come claims what it wants, before a worker is made for it.
  func claimAtOnce(_ member: ScriptMember) {
    let index = member.index
    guard claims(member) else { return }
    call("\(index) holds at once what it wants") {
      $0.resourcesHeldAtOnce(index, &$1)
    } follow: { model, _ in
      model.resourcesHeldAtOnce(index)
    }
  }

  /// Says whether it does; if not, the run ends the long way.
  func exchange(_ member: ScriptMember, for worker: ScriptWorker) -> Bool {
    guard !member.isCancelled, !worker.isSpent else { return false }
    let index = member.index
    endClaim(of: member)
    if machine.mayBeSucceededByArrival(index), !isDraining, random.chance(percent: 30) {
      succeedByArrival(member, for: worker)
      return true
    }
    guard let successor = machine.successor(of: index), let next = members.first(where: { $0.index == successor }),
      claimsInPassing(next)
    else { return false }
    call("\(index) succeeded by \(successor)") {
      $0.succeeded(index, by: successor, &$1)
    } follow: { model, _ in
      model.succeeded(index, by: successor)
    }
    forget(member)
    (worker.member, next.worker) = (next, worker)
    next.startBody()
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
    let next = ScriptMember(.detached, parent: nil, lender: nil)
    seat(next, at: index)
    (worker.member, next.worker) = (next, worker)
    next.startBody()
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
